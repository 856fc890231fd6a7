# JSON within JSON.
# expect: {"status": "failed", "reason": ["exception", "signal", "memory"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456, "stderrBytes": 65536}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
import json
import sys

sys.setrecursionlimit(2 ** 31 - 1)
json.loads("[" * 10 ** 6 + "]" * 10 ** 6)
raise SystemExit(1)
