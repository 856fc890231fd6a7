# Reading for ever from /dev/zero, or from what stands for it.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
try:
    data = open("/dev/zero", "rb")
except OSError:
    data = None
kept = []
while True:
    kept.append(data.read(1 << 20) if data else bytes(1 << 20))
