# Descriptors that the machinery left open.
from esc import *

import socket
import stat

found = []
for fd in range(4096):
    try:
        st = os.fstat(fd)
    except OSError:
        continue
    if fd <= 2:
        continue
    kind = stat.S_IFMT(st.st_mode)
    found.append((fd, oct(kind)))
    if stat.S_ISDIR(st.st_mode):
        escaped("an open folder", "%d %s" % (fd, os.readlink("/proc/self/fd/%d" % fd) if os.path.exists("/proc/self/fd") else ""))
    elif stat.S_ISREG(st.st_mode):
        target = os.readlink("/proc/self/fd/%d" % fd)
        data = os.pread(fd, 1 << 16, 0)
        if is_planted(data):
            escaped("an open file of the host", target)
    elif stat.S_ISCHR(st.st_mode) and os.major(st.st_rdev) != 1:
        escaped("an open device", (fd, st.st_rdev))
    elif stat.S_ISSOCK(st.st_mode):
        s = socket.socket(fileno=os.dup(fd))
        if s.family != socket.AF_UNIX:
            escaped("an open network socket", s)
        s.close()
contained("inherited descriptors", "above 2 there are %s" % found)
for fd in (0, 1, 2):
    target = os.readlink("/proc/self/fd/%d" % fd)
    st = os.fstat(fd)
    if stat.S_ISCHR(st.st_mode) and os.isatty(fd):
        escaped("a terminal", target)
    attempt("open %s as a folder's way out" % target, os.open, "../../../../etc/shadow", os.O_RDONLY, dir_fd=fd)
