# A recursion without a limit.
# expect: {"status": "failed", "reason": ["memory", "exception"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
import sys

sys.setrecursionlimit(2 ** 31 - 1)


def f(x):
    return f([x]) + 1


f(0)
