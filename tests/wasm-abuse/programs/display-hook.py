# A display hook that never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "limits": {"fuel": 400000000}, "displayLastExpression": true, "stdout": {}, "stderr": {}}
import builtins
import sys


def forever(*a):
    while True:
        pass


class Odd:
    __repr__ = __str__ = __format__ = forever


sys.displayhook = builtins.print = builtins.repr = forever
Odd()
