# A word that is not one: only eight bits of it count.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "stdout": {}, "stderr": ""}
import os

os._exit(0x7fffff00)
