# System calls of the 32-bit kind: int 0x80 from memory that is made executable.
from esc import *

need_x86_64()
import mmap

# mov eax, NR; mov ebx, 0; int 0x80; ret   (the 32-bit numbers: 20 getpid, 26 ptrace, 102 socketcall, 21 mount)
for nr in (20, 26, 102, 21):
    try:
        area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError as e:
        contained("executable memory", reason(e))
        break
    area.write(b"\xb8" + nr.to_bytes(4, "little") + b"\xbb\0\0\0\0\xcd\x80\xc3")

    def jump():
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        got = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        if got >= 0:
            escaped("int 0x80 with %d" % nr, got)
        else:
            contained("int 0x80 with %d" % nr, errno.errorcode.get(-got, got))

    code = in_child(jump)
    if code < 0:
        contained("int 0x80 with %d" % nr, "ended by signal %d" % -code)
