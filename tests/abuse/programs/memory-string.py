# Doubles a text for ever.
# expect: {"status": "failed", "reason": "memory", "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {}}
s = "x"
while True:
    s += s
