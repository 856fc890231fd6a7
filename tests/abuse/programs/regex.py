# A regular expression that never ends.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000}}
import re

re.match(r"(a+)+$", "a" * 64 + "b")
