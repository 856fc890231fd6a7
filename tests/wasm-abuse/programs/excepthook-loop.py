# An exception hook that never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import sys


def forever(*args):
    while True:
        pass


sys.excepthook = forever
1 / 0
