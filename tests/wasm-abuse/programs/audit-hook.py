# An audit hook that never returns.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import sys


def hook(event, args):
    while event == "open":
        pass


sys.addaudithook(hook)
open("x", "w")
