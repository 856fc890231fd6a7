# A trace function that never returns.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import sys


def trace(frame, event, arg):
    while True:
        pass


sys.settrace(trace)


def f():
    return 1


f()
