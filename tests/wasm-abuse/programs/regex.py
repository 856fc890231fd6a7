# A regular expression that never ends.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "signal": null, "limits": {"fuel": 1000000000000000, "wallMs": 1500}, "stdout": {}, "stderr": {}}
import re

re.match(r"(a+)+$", "a" * 64 + "b")
