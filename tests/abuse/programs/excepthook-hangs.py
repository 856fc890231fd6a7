# An excepthook that raises, and one that never returns.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000}}
import sys
import time

sys.excepthook = lambda *a: time.sleep(1000)
raise ValueError
