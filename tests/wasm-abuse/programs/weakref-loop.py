# A weak reference's callback that never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import weakref


class Thing:
    pass


def forever(_):
    while True:
        pass


thing = Thing()
ref = weakref.ref(thing, forever)
del thing
