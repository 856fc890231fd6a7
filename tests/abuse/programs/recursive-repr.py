# Nested structures that are walked in C.
# expect: {"status": ["failed", "succeeded"], "reason": ["signal", "exception", "memory", "exit"], "limits": {"wallMs": 30000}, "stderr": {}}
import sys

sys.setrecursionlimit(10 ** 9)
nested = []
for _ in range(10 ** 6):
    nested = [nested]
repr(nested)
