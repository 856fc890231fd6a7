# Iterators within iterators.
# expect: {"status": "failed", "reason": ["exception", "signal", "memory"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456, "stderrBytes": 65536}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
import sys

sys.setrecursionlimit(2 ** 31 - 1)
it = iter(range(3))
for _ in range(10 ** 6):
    it = map(int, it)
next(it)
raise SystemExit(1)
