# Sockets of every family but the local one.
from esc import *

import socket

for family in range(0, 46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        for protocol in (0, 1, 6, 17, 255):
            if family == socket.AF_UNIX:
                continue
            try:
                s = socket.socket(family, kind, protocol)
            except OSError as e:
                why = reason(e)
            else:
                escaped("socket(%d, %d, %d)" % (family, kind, protocol), s)
contained("sockets of 45 families", why)
