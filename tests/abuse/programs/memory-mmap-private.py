# Private anonymous mappings, touched.
# expect: {"status": "failed", "reason": ["memory"], "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {}}
import mmap

held = []
while True:
    area = mmap.mmap(-1, 1 << 24, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, 1 << 24, 4096):
        area[at] = 1
    held.append(area)
