# A storm of timer signals.
# expect: {"status": "succeeded", "stdout": "True\n", "limits": {"wallMs": 30000}}
import signal
import time

count = [0]
signal.signal(signal.SIGALRM, lambda *a: count.__setitem__(0, count[0] + 1))
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + 1
while time.monotonic() < end:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
print(count[0] > 0)
