# Shared anonymous mappings, dropped from its own page tables: memory that no process seems to use.
# expect: {"status": "failed", "reason": ["memory", "exception"], "stdout": "", "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {}}
# shmem: true
import mmap

held = []
while len(held) < 256:
    area = mmap.mmap(-1, 1 << 24)
    for at in range(0, 1 << 24, 4096):
        area[at] = 1
    area.madvise(mmap.MADV_DONTNEED)
    held.append(area)
print("took 4 GiB")
