# Asks for a petabyte at once.
# expect: {"status": "failed", "reason": "memory", "exitCode": 1, "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {"contains": ["MemoryError"]}}
held = bytearray(1 << 50)
