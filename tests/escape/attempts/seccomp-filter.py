# Adds a filter of its own that allows everything.
from esc import *

need_x86_64()
import socket


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


allow = ctypes.create_string_buffer(bytes([6, 0, 0, 0, 0, 0, 0xFF, 0x7F]), 8)
program = Program(1, ctypes.addressof(allow))
for flags in (0, 1, 8):
    got, number = raw("seccomp", 1, flags, ctypes.byref(program))
    contained("seccomp filter, flags %d" % flags, errno.errorcode[number] if got == -1 else "it can only take away")
attempt("a network socket afterwards", socket.socket, socket.AF_INET)
call("unshare", 0x10000000, what="unshare afterwards")
