# The first thread of each process ends alone, and its other threads take memory: the process looks like a dead one.
# expect: {"status": "failed", "reason": ["memory"], "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {}}
import ctypes
import os
import threading
import time

libc = ctypes.CDLL(None)


def take():
    held = bytearray(48 << 20)
    for at in range(0, len(held), 4096):
        held[at] = 1
    time.sleep(25)


for _ in range(10):
    if os.fork() == 0:
        threading.Thread(target=take).start()
        libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # exit of this thread
while True:
    os.wait()
