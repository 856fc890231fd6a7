# Replaces itself for ever.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000}}
import os
import sys

code = "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', sys.argv[1], sys.argv[1]])"
os.execv(sys.executable, [sys.executable, "-c", code, code])
