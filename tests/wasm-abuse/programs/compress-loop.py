# A compression that goes on for ever.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import zlib

data = b"ab" * 500000
while True:
    zlib.compress(data, 9)
