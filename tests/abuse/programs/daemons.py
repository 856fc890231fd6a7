# Ten daemons by double fork, each holding the streams and writing for ever.
# expect: {"status": "succeeded", "stdout": {"contains": ["started"]}}
import os
import time

for n in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(0.01)
                try:
                    os.write(1, b"d")
                except OSError:
                    pass
        os._exit(0)
    os.wait()
print("started")
