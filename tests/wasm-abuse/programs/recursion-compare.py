# Two nested things that are compared.
# expect: {"status": "failed", "reason": ["exception", "signal", "memory"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456, "stderrBytes": 65536}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
import sys

sys.setrecursionlimit(2 ** 31 - 1)


def nest():
    x = []
    for _ in range(10 ** 6):
        x = [x]
    return x


nest() == nest()
raise SystemExit(1)
