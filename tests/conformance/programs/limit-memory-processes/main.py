import os
import time

for _ in range(4):
    if os.fork() == 0:
        a = bytearray(60_000_000)
        for i in range(0, len(a), 4096):
            a[i] = 1
        time.sleep(55)
        os._exit(0)
while True:
    os.wait()
