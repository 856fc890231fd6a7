# __import__ replaced by a loop.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import builtins


def forever(*args, **kwargs):
    while True:
        pass


builtins.__import__ = forever
import json
