# A local socket of the host, by abstract name.
from esc import *

import socket

for name in PLANTED["abstract"]:
    attempt("connect to an abstract name", lambda: socket.socket(socket.AF_UNIX).connect("\0" + name))
    attempt("datagram to an abstract name", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\0" + name + "-datagram"))
