# Takes what the kernel counts for a user and not for a process: descriptors that are on their way through a socket, timers.
import ctypes
import os
import socket
import time

held = []
null = os.open("/dev/null", os.O_RDONLY)
refused = 0
while refused < 3:
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.setblocking(False)
    held += [a, b]
    try:
        while True:
            socket.send_fds(a, [b"x"], [null] * 100)
    except BlockingIOError:
        pass
    except OSError:
        refused += 1
libc = ctypes.CDLL(None)
timer = ctypes.c_void_p()
while libc.timer_create(1, None, ctypes.byref(timer)) == 0:
    pass
print("ready", flush=True)
time.sleep(120)
