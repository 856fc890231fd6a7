# A loop that does nothing.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
while True:
    pass
