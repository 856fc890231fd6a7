# An exit handler that never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import atexit

atexit.register(lambda: [None for _ in iter(int, 1)])
