# Kills processes by their numbers outside.
from esc import *

import signal

for pid in PLANTED["pids"]:
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, 0):
        attempt("kill %s" % signal.Signals(number).name if number else "kill 0", os.kill, pid, number)
    attempt("killpg", os.killpg, pid, signal.SIGKILL)
    need_x86_64()
    call("tkill", pid, 9)
    call("tgkill", pid, pid, 9)
    call("rt_sigqueueinfo", pid, 9, (ctypes.c_int * 32)(9, 0, -1))
