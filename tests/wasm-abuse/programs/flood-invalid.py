# Bytes that are no text: each becomes three.
# expect: {"status": "failed", "reason": "fuel", "limits": {"fuel": 2000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000}, "stdout": {}, "stderr": "", "truncated": {"stdout": true}}
import os

while True:
    os.write(1, b"\xff" * 4096)
