# Memory was full, that was handled, and then something else failed.
# expect: {"status": "failed", "reason": "exception", "exitCode": 1, "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": "full\n", "stderr": {}}
kept = []
try:
    while True:
        kept.append(bytearray(1 << 20))
except MemoryError:
    kept.clear()
    print("full")
raise ValueError("of its own")
