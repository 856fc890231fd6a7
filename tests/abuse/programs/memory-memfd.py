# Memory files, written and never mapped.
# expect: {"status": "failed", "reason": ["memory", "exception", "disk"], "stdout": "", "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {}}
# shmem: true
import os

held = []
while len(held) < 500:
    fd = os.memfd_create("x")
    for _ in range(8):
        os.write(fd, bytes(1 << 20))
    held.append(fd)
print("took 4 GiB")
