# Sets an enormous recursion limit and recurses.
# expect: {"status": ["failed", "timed_out"], "reason": ["signal", "memory", "exception", "wall_time"], "limits": {"wallMs": 20000, "memoryBytes": 268435456}, "stderr": {}}
import sys

sys.setrecursionlimit(10 ** 9)


def f(n):
    return f(n + 1)


f(0)
