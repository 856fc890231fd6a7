# Dies with a core dump, which a helper of the host might handle.
from esc import *

import resource

try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    contained("RLIMIT_CORE", "raised; see the files")
except (OSError, ValueError) as e:
    contained("RLIMIT_CORE", reason(e))
code = in_child(os.abort)
dumped = [n for n in os.listdir(".") if "core" in n]
contained("core dump", "ended by %d, no file" % code) if not dumped else escaped("core dump", dumped)
