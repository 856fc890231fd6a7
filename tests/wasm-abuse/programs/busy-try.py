# A loop that catches everything.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
    finally:
        pass
