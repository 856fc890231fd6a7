# Both at once, raw.
# expect: {"status": "failed", "reason": "fuel", "limits": {"fuel": 2000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000}, "stdout": {"bytes": 100000}, "stderr": {"bytes": 50000}, "truncated": {"stdout": true, "stderr": true}}
import os

data = b"y" * 65536
while True:
    os.write(1, data)
    os.write(2, data)
