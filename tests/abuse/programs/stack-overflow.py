# Uses up the C stack.
# expect: {"status": "failed", "reason": ["signal", "memory", "exception"], "limits": {"wallMs": 30000, "memoryBytes": 536870912}, "stderr": {}}
import ctypes

callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
import sys
sys.setrecursionlimit(10 ** 9)


@callback
def again(n):
    return again(n + 1)


again(0)
