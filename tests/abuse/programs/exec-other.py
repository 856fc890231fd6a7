# Replaces itself by another program.
# expect: {"status": "failed", "reason": "exit", "exitCode": 3, "stdout": "before\nafter\n"}
import os
import sys

print("before", flush=True)
os.execv(sys.executable, [sys.executable, "-c", "print('after'); raise SystemExit(3)"])
