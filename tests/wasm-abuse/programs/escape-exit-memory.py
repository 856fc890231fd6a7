# Exit status as of a MemoryError that there was not.
# expect: {"status": "failed", "reason": "exit", "exitCode": 1, "stdout": {}, "stderr": ""}
import os

os._exit(1 | 2 << 8)
