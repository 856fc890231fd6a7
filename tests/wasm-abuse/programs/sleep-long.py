# A sleep of many years.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "signal": null, "limits": {"fuel": 1000000000000000, "wallMs": 1500}, "stdout": {}, "stderr": {}}
import time

time.sleep(10 ** 9)
