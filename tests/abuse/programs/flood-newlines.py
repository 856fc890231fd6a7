# Writes lines to both streams for ever.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000, "stdoutBytes": 100000, "stderrBytes": 50000}, "truncated": {"stdout": true, "stderr": true}, "stdout": {}, "stderr": {}}
# most: {"stdout": 100000, "stderr": 50000}
import os

data = b"y\n" * 32768
while True:
    os.write(1, data)
    os.write(2, data)
