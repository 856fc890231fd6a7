# An exception is caught wherever it may come.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import signal
import sys


def again():
    try:
        while True:
            pass
    except BaseException:
        again()
    finally:
        again()


sys.setrecursionlimit(10 ** 6)
for number in range(1, 65):
    try:
        signal.signal(number, lambda *a: None)
    except BaseException:
        pass
again()
