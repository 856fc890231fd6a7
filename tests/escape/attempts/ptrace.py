# Traces others, or itself.
from esc import *

need_x86_64()
for pid in OTHERS | {PLANTED["pids"][0]}:
    for name, request in (("attach", 16), ("seize", 0x4206), ("peek", 1)):
        call("ptrace", request, pid, 0, 0, what="ptrace %s %d" % (name, pid))
call("ptrace", 0, 0, 0, 0, what="ptrace traceme")
