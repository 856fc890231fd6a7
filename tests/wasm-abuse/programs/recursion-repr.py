# Lists within lists, walked in C.
# expect: {"status": "failed", "reason": ["exception", "signal", "memory"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456, "stderrBytes": 65536}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
import sys

sys.setrecursionlimit(2 ** 31 - 1)
nested = []
for _ in range(10 ** 6):
    nested = [nested]
repr(nested)
raise SystemExit(1)
