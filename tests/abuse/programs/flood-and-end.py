# Writes 200 MB as fast as it can, and ends.
# expect: {"status": "succeeded", "stdout": {"bytes": 65536}, "limits": {"wallMs": 60000, "stdoutBytes": 65536}, "truncated": {"stdout": true}}
import os

data = b"z" * 1_000_000
for _ in range(200):
    at = 0
    while at < len(data):
        at += os.write(1, data[at:])
