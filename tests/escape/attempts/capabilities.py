# Gets capabilities back.
from esc import *

need_x86_64()
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
full = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
call("capset", ctypes.byref(header), ctypes.byref(full))
for name, arguments in (("ambient raise", (47, 2, 21, 0, 0)), ("securebits", (28, 0x2F, 0, 0, 0)), ("keepcaps", (8, 1, 0, 0, 0)), ("bounding drop", (24, 21, 0, 0, 0))):
    got, number = raw("prctl", *arguments)
    caps = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm", "CapAmb"))]
    if any(int(c, 16) for c in caps):
        escaped("capabilities after " + name, caps)
    contained("prctl " + name, errno.errorcode[number] if got == -1 else "gave no capability")
