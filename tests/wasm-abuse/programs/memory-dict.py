# A dictionary that grows.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
kept = {}
n = 0
while True:
    kept[n] = str(n)
    n += 1
