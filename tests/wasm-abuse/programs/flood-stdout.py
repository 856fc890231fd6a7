# Prints for ever; the rest is cut.
# expect: {"status": "failed", "reason": "fuel", "limits": {"fuel": 2000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000}, "stdout": {"bytes": 100000}, "stderr": "", "truncated": {"stdout": true}}
while True:
    print("x" * 999)
