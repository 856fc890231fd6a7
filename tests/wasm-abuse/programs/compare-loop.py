# An order in which nothing is ever sorted.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
class Odd:
    def __lt__(self, other):
        while True:
            pass


sorted([Odd(), Odd()])
