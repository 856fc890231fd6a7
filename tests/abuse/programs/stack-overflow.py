# Uses up the C stack: machine code that only pushes.
# expect: {"status": "failed", "reason": "signal", "signal": 11}
import ctypes
import mmap
import platform

code = {"x86_64": "50ebfd", "aarch64": "fd7bbfa9ffffff17"}[platform.machine()]
area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
area.write(bytes.fromhex(code))
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(area)))()
