# One write larger than any pipe.
# expect: {"status": "succeeded", "reason": "exit", "limits": {"fuel": 2000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000}, "stdout": {"bytes": 100000}, "stderr": "", "truncated": {"stdout": true}}
import os

n = os.write(1, b"z" * (64 << 20))
assert n == 64 << 20, n
