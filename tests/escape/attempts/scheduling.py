# Real-time scheduling and better priorities than others have.
from esc import *

need_x86_64()
class Param(ctypes.Structure):
    _fields_ = [("priority", ctypes.c_int)]


for policy in (1, 2):
    call("sched_setscheduler", 0, policy, ctypes.byref(Param(10)), what="sched_setscheduler %d" % policy)
call("sched_setscheduler", 0, 3, ctypes.byref(Param(10)), what="sched_setscheduler with a wrong priority")
call("sched_setattr", 0, (ctypes.c_uint64 * 7)(6 << 32 | 56, 0, 0, 10 ** 6, 10 ** 7, 10 ** 7, 0), 0, what="sched_setattr deadline")
attempt("nice -5", os.setpriority, os.PRIO_PROCESS, 0, -20)
attempt("nice of the first process", os.setpriority, os.PRIO_PROCESS, 1, 19)
attempt("nice of the user", os.setpriority, os.PRIO_USER, 0, -10)
call("ioprio_set", 1, 0, 1 << 13, what="ioprio real time")
call("ioprio_set", 1, 1, 3 << 13, what="ioprio of the first process")
