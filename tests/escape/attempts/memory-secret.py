# Searches its own memory, which was the zygote's, for a secret of the outside.
from esc import *

try:
    total, hits = search_memory()
    escaped("the secret is in memory") if hits else contained("search of own memory", "%d bytes without it" % total)
except OSError as e:
    contained("search of own memory", reason(e))
import gc
texts = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple)) and len(o) < 1000]
if any(is_planted(repr(v).encode()) for o in texts for v in (o.values() if isinstance(o, dict) else o) if isinstance(v, (str, bytes))):
    escaped("the secret is in an object")
contained("search of %d objects" % len(texts), "without it")
