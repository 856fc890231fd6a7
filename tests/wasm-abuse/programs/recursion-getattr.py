# Attributes that look for themselves.
# expect: {"status": "failed", "reason": ["exception", "signal", "memory"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456, "stderrBytes": 65536}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
import sys

sys.setrecursionlimit(2 ** 31 - 1)


class Odd:
    def __getattr__(self, name):
        return getattr(self, name + "x"[:0])


Odd().x
