# Forks for ever and ignores every error.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 2000}, "stdout": ""}
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
