# Names without end.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
import sys

kept = []
n = 0
while True:
    kept.append(sys.intern("name%d" % n * 20))
    n += 1
