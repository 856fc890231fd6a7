# Forks until it fails.
# expect: {"status": ["failed", "timed_out"], "reason": ["pids", "wall_time"], "limits": {"wallMs": 2000}, "stderr": {}}
import os

while True:
    os.fork()
