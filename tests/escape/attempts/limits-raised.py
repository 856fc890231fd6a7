# Raises its own limits, or those of others.
from esc import *

need_x86_64()
import resource

for name in ("NPROC", "NOFILE", "MEMLOCK", "RTPRIO", "NICE", "FSIZE", "AS", "DATA", "MSGQUEUE"):
    what = getattr(resource, "RLIMIT_" + name)
    soft, hard = resource.getrlimit(what)
    if hard == resource.RLIM_INFINITY:
        contained("RLIMIT_" + name, "has no limit to raise")
        continue
    attempt("raise RLIMIT_" + name, resource.setrlimit, what, (hard + 1, hard + 1))
for pid in OTHERS | {PLANTED["pids"][0]}:
    attempt("prlimit of %d" % pid, resource.prlimit, pid, resource.RLIMIT_NOFILE, (10, 10))
call("mlockall", 3) if resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] == 0 else contained("mlockall", "bounded by RLIMIT_MEMLOCK")
