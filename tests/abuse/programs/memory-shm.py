# Files in /dev/shm, unlinked and held open.
# expect: {"status": "failed", "reason": ["memory", "disk"], "stdout": "", "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {}}
# shmem: true
import os

held = []
while len(held) < 500:
    fd = os.open("/dev/shm/x", os.O_CREAT | os.O_RDWR)
    os.unlink("/dev/shm/x")
    for _ in range(8):
        os.write(fd, bytes(1 << 20))
    held.append(fd)
print("took 4 GiB")
