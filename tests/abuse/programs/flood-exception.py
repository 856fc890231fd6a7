# An exception with a text of 50 MB.
# expect: {"status": "failed", "reason": "exception", "exitCode": 1, "truncated": {"stderr": true}, "stderr": {}, "limits": {"stderrBytes": 65536}}
raise ValueError("v" * 50_000_000)
