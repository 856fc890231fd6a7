# Writes no newline to both streams for ever.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 8000, "stdoutBytes": 100000, "stderrBytes": 50000}, "truncated": {"stdout": true, "stderr": true}, "stdout": {}, "stderr": {}}
# most: {"stdout": 100000, "stderr": 50000}
# during: true
import os

data = b"y" * 65536
while True:
    os.write(1, data)
    os.write(2, data)
