# A secret in the environment of the program that started everything.
from esc import *

if any(is_planted(("%s=%s" % item).encode("utf-8", "surrogateescape")) for item in os.environ.items()):
    escaped("os.environ")
for where in ("self", "thread-self", *map(str, OTHERS)):
    try:
        data = open("/proc/%s/environ" % where, "rb").read()
        escaped("environ of " + where) if is_planted(data) else contained("environ of " + where, "%d bytes without it" % len(data))
    except OSError as e:
        contained("environ of " + where, reason(e))
