# Many small processes, each with a little.
# expect: {"status": "failed", "reason": "memory", "limits": {"memoryBytes": 134217728, "wallMs": 30000}}
import os
import time

for _ in range(40):
    if os.fork() == 0:
        held = bytearray(8 << 20)
        for at in range(0, len(held), 4096):
            held[at] = 1
        time.sleep(25)
        os._exit(0)
while True:
    os.wait()
