# A file larger than the memory.
# expect: {"status": "failed", "reason": ["memory", "disk"], "limits": {"fuel": 200000000000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}, "artifactsOther": true, "rejected": {}}
with open("large", "wb") as f:
    while True:
        f.write(bytes(1 << 20))
