# Never waits for its children.
# expect: {"status": ["failed"], "reason": "pids", "exitCode": 1, "limits": {"wallMs": 30000}, "stderr": {}}
import os

while True:
    if os.fork() == 0:
        os._exit(0)
