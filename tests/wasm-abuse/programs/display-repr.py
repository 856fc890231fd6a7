# The last expression is shown by a repr that never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "limits": {"fuel": 400000000}, "displayLastExpression": true, "stdout": {}, "stderr": {}}
class Odd:
    def __repr__(self):
        while True:
            pass


Odd()
