# Maps a written file as code.
from esc import *

need_x86_64()
import mmap

data = b"\xb8\x2a\0\0\0\xc3".ljust(4096, b"\x90")
for folder in ("/mnt/data", "/tmp", "/dev/shm"):
    path = os.path.join(folder, "code")
    with open(path, "wb") as f:
        f.write(data)
    with open(path, "rb") as f:
        attempt("map %s as code" % folder, mmap.mmap, f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    attempt("dlopen from " + folder, ctypes.CDLL, path)
