# Descriptors of processes.
from esc import *

need_x86_64()
for pid in OTHERS | set(PLANTED["pids"]):
    got, number = raw("pidfd_open", pid, 0)
    if got < 0:
        contained("pidfd_open %d" % pid, errno.errorcode[number])
        continue
    if pid in PLANTED["pids"]:
        escaped("pidfd of a process outside", pid)
    for fd in range(8):
        call("pidfd_getfd", got, fd, 0, what="pidfd_getfd %d of %d" % (fd, pid))
    got, number = raw("pidfd_send_signal", got, 9, 0, 0)
    contained("pidfd_send_signal to %d" % pid, errno.errorcode.get(number, "no effect on the first process"))
contained("pidfd", "tried")
