# Takes the abstract name of a neighbour, which shares the empty network.
# beside: neighbour
from esc import *

import socket

NAME = "mf-neighbour-" + "cd" * 8
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    attempt("connect (%d)" % kind, lambda: socket.socket(socket.AF_UNIX, kind).connect("\0" + NAME))
attempt("datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\0" + NAME))
