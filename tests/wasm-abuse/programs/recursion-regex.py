# A pattern of many brackets.
# expect: {"status": "failed", "reason": ["exception", "signal", "memory", "exit"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456, "stderrBytes": 65536}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
import re
import sys

sys.setrecursionlimit(2 ** 31 - 1)
re.compile("(" * 10 ** 5 + ")" * 10 ** 5)
raise SystemExit(1)
