# A profile function that never returns.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import sys


def profile(frame, event, arg):
    while True:
        pass


sys.setprofile(profile)
len("x")
