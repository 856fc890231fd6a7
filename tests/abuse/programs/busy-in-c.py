# One endless loop inside C, signals blocked.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000}}
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
sum(iter(int, 1))
