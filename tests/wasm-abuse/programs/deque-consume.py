# An iterator without end, consumed in C.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import collections
import itertools

collections.deque(itertools.repeat(0), maxlen=0)
