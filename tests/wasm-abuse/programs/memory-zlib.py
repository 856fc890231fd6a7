# A small archive of much nothing.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
import zlib

c = zlib.compressobj(9)
bomb = b"".join(c.compress(bytes(1 << 20)) for _ in range(400)) + c.flush()
print(len(bomb))
zlib.decompress(bomb)
