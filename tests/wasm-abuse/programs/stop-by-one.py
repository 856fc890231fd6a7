# One byte past the cap.
# expect: {"status": "failed", "reason": "output", "exitCode": null, "limits": {"fuel": 1000000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000, "stopOnOutput": true}, "stdout": {"bytes": 100000}, "stderr": "", "truncated": {"stdout": true}}
import os

os.write(1, b"x" * 100001)
while True:
    pass
