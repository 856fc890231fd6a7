# A replacement that multiplies.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
text = "a" * 100000
while True:
    text = text.replace("a", "aaaaaaaaaa")
