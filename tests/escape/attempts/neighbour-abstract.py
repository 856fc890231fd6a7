# Takes the abstract name of a neighbour, which shares the empty network.
# beside: neighbour
from esc import *

import socket

NAME = "mf-neighbour-" + "cd" * 8
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    attempt("connect (%d)" % kind, lambda: socket.socket(socket.AF_UNIX, kind).connect("\0" + NAME))
attempt("datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\0" + NAME))
for name in ("unix", "netlink", "packet", "tcp", "sockstat"):
    try:
        data = open("/proc/self/net/" + name).read()
    except OSError as e:
        contained("read /proc/self/net/" + name, reason(e))
        continue
    escaped("the neighbour is listed in /proc/self/net/" + name) if "mf-neighbour" in data else contained("read /proc/self/net/" + name, "nobody else's")
    named = [line.split()[7] for line in data.splitlines()[1:] if name == "unix" and len(line.split()) > 7]
    if named:
        escaped("names of others' sockets", named)
