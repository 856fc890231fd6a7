# A finaliser that begins when Python ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
class Stays:
    def __del__(self):
        while True:
            pass


import sys
sys.kept = stays = Stays()
print("end")
import atexit
atexit.register(lambda: sys.__dict__.pop("kept") and globals().pop("stays"))
