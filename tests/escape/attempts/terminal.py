# Types into a terminal.
from esc import *

import fcntl

for name, number in (("TIOCSTI", 0x5412), ("TIOCLINUX", 0x541C), ("TIOCSCTTY", 0x540E), ("TIOCCONS", 0x541D), ("TIOCSETD", 0x5423)):
    for fd in (0, 1, 2):
        attempt("%s on %d" % (name, fd), fcntl.ioctl, fd, number, b"x")
for path in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/pts/0", "/dev/ptmx", "/dev/vcs"):
    attempt("open " + path, os.open, path, os.O_RDWR)
