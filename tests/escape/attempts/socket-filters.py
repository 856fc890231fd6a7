# Gives the kernel a program for its BPF machine by way of a socket.
from esc import *

import socket
import struct

code = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0xffff))
program = struct.pack("@HP", 1, ctypes.addressof(code))
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    s = socket.socketpair(socket.AF_UNIX, kind)[0]
    for option, value in ((26, program), (50, struct.pack("i", 0)), (51, program), (52, struct.pack("i", 0))):
        attempt("socket filter %d" % option, s.setsockopt, socket.SOL_SOCKET, option, value)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
