# Sockets of AF_VSOCK.
from esc import *

import socket

attempt("socket(AF_VSOCK, SOCK_STREAM, 0)", socket.socket, socket.AF_VSOCK, socket.SOCK_STREAM, 0)
attempt("connect to the host's context", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).connect((2, 22)))
attempt("open /dev/vsock", open, "/dev/vsock", "rb")
