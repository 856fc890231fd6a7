# Reads one byte of each 2 MB of an empty mapping: no page of its own, but gigabytes of page tables.
# expect: {"status": "failed", "reason": ["memory"], "limits": {"memoryBytes": 134217728, "wallMs": 60000}, "stderr": {}}
import ctypes

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE = 1 << 39
start = libc.mmap(None, SIZE, 1, 0x4022, -1, 0)  # readable, private, anonymous, no reserve
libc.madvise(start, SIZE, 15)  # no huge page
for at in range(start, start + SIZE, 1 << 21):
    ctypes.string_at(at, 1)
