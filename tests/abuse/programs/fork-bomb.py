# Forks for ever and ignores every error.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 8000}, "stdout": "bomb\n"}
# during: true
import os

print("bomb", flush=True)
while True:
    try:
        os.fork()
    except OSError:
        pass
