# Brackets within brackets.
# expect: {"status": "failed", "reason": ["exception", "signal", "memory"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456, "stderrBytes": 65536}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
compile("(" * 10 ** 6 + ")" * 10 ** 6, "x", "eval")
