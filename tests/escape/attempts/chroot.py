# chroot and pivot_root.
from esc import *

need_x86_64()
os.mkdir("r")
for path in ("r", "/", "/mnt", "/proc/1/root"):
    attempt("chroot " + path, os.chroot, path)
    call("pivot_root", path.encode(), path.encode(), what="pivot_root " + path)
