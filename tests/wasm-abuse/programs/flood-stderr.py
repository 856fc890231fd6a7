# The same to stderr.
# expect: {"status": "failed", "reason": "fuel", "limits": {"fuel": 2000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000}, "stdout": "", "stderr": {"bytes": 50000}, "truncated": {"stderr": true}}
import sys

while True:
    print("x" * 999, file=sys.stderr)
