# Stops itself.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000}, "stdout": "stopping\n"}
import os
import signal

print("stopping", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
