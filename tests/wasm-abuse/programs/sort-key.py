# A key of sort that never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
def key(_):
    while True:
        pass


sorted([2, 1], key=key)
