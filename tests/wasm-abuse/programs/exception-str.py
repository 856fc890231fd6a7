# An exception whose text never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
class Odd(Exception):
    def __str__(self):
        while True:
            pass


raise Odd
