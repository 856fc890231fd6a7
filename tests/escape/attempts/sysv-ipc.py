# System V and POSIX queues, shared memory and semaphores of another task.
# first: leave-traces
from esc import *

need_x86_64()
for what, name, arguments in (("shared memory", "shmget", (0x6d66, 4096, 0o666)), ("message queue", "msgget", (0x6d66, 0o666)), ("semaphore", "semget", (0x6d66, 1, 0o666)),
                              ("POSIX queue", "mq_open", (b"mf-trace", 0, 0, 0))):
    call(name, *arguments, what=what + " of the task before")
for identifier in range(8):
    got, number = raw("shmat", identifier, 0, 0)
    contained("shmat %d" % identifier, errno.errorcode[number]) if got == -1 else escaped("shmat", identifier)
