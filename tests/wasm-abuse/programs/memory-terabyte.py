# One object larger than its addresses.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
bytearray((1 << 31) - 1)
