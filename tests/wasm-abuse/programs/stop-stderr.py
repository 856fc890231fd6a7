# The same to stderr.
# expect: {"status": "failed", "reason": "output", "exitCode": null, "limits": {"fuel": 1000000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000, "stopOnOutput": true}, "stdout": "", "stderr": {"bytes": 50000}, "truncated": {"stderr": true}}
import sys

while True:
    sys.stderr.write("x" * 999)
