# Makes the host's disk flush its cache, by way of a file of the image.
from esc import *

image, (r, w) = os.open(os.__file__, os.O_RDONLY), os.pipe()
for name in ("fsync", "fdatasync"):
    getattr(os, name)(image)
    try:
        getattr(os, name)(w)  # the kernel itself refuses a pipe, so an answer shows who answered
        contained(name, "the filter answers")
    except OSError as e:
        escaped(name, reason(e))
attempt("sync", lambda: 0 if libc.syscall(162) == 0 else [][0])
attempt("syncfs", lambda: 0 if libc.syscall(306, image) == 0 else [][0])
