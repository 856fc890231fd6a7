# An exception with a text of megabytes.
# expect: {"status": "failed", "reason": "output", "limits": {"fuel": 1000000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000, "stopOnOutput": true}, "stdout": "", "stderr": {"bytes": 50000}, "truncated": {"stderr": true}}
raise ValueError("x" * 5000000)
