# A cycle whose finalisers make a new one.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import gc


class Hydra:
    def __init__(self):
        self.me = self

    def __del__(self):
        Hydra()


Hydra()
while True:
    gc.collect()
