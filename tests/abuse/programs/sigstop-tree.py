# Stopped children with blocked signals.
# expect: {"status": "succeeded", "stdout": "ends\n"}
import os
import signal
import time

for _ in range(10):
    if os.fork() == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(0.2)
print("ends")
