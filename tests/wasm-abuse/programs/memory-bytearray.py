# A bytearray that grows.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
data = bytearray()
while True:
    data += bytes(1 << 20)
