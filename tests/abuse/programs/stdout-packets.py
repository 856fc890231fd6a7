# Its pipes hand over each written byte by itself (O_DIRECT), and descendants go on writing after its end.
# expect: {"status": "succeeded", "stdout": {"matches": "x{8}z*"}, "stderr": {"matches": "y{8}z*"}, "limits": {"wallMs": 30000}}
import fcntl
import os
import time

for fd in (1, 2):
    fcntl.fcntl(fd, 1031, 1 << 20)
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_DIRECT)
for _ in range(8):
    os.write(1, b"x")
    os.write(2, b"y")
time.sleep(0.2)
for i in range(8):
    if os.fork() == 0:
        while True:
            os.write(1 + i % 2, b"z")
