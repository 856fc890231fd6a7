# A list times a billion.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
[0] * 500000000
