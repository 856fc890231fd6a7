# Makes a descriptor send signals to others.
from esc import *

import fcntl

r, w = os.pipe()
for pid in PLANTED["pids"]:
    attempt("F_SETOWN", fcntl.fcntl, r, fcntl.F_SETOWN, pid)
    attempt("F_SETOWN of a group", fcntl.fcntl, r, fcntl.F_SETOWN, -pid)
contained("signals by descriptor", "tried")
