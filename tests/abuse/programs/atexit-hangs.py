# An exit function that does not end.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000}, "stdout": "main ends\n"}
import atexit
import time

atexit.register(time.sleep, 1000)
print("main ends")
