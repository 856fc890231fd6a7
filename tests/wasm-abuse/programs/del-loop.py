# A finaliser that never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
class Stays:
    def __del__(self):
        while True:
            pass


Stays()
