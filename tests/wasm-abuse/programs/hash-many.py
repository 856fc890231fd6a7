# Digests without end.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import hashlib

data = bytes(1 << 16)
while True:
    data = hashlib.sha512(data).digest() * 1024
