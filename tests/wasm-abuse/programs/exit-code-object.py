# An exit code whose text never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
class Code:
    def __str__(self):
        while True:
            pass


raise SystemExit(Code())
