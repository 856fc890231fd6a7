# Takes memory while it is freed.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
kept = []


class Odd:
    def __del__(self):
        kept.append(bytearray(1 << 20))
        Odd()


try:
    while True:
        Odd()
        kept.append(bytearray(1 << 20))
except MemoryError:
    raise
