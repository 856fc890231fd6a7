# Exit codes that are none.
# expect: {"status": "failed", "reason": "exit", "exitCode": 255, "stdout": {}, "stderr": ""}
import os

os._exit(-1)
