# Prints for ever and is stopped.
# expect: {"status": "failed", "reason": "output", "exitCode": null, "limits": {"fuel": 1000000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000, "stopOnOutput": true}, "stdout": {"bytes": 100000}, "stderr": "", "truncated": {"stdout": true}}
while True:
    print("x" * 999)
