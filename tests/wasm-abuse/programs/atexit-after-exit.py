# An exit handler after sys.exit.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import atexit
import sys


def forever():
    while True:
        pass


atexit.register(forever)
sys.exit(0)
