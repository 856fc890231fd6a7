# Sockets of AF_INET6.
from esc import *

import socket

attempt("socket(AF_INET6, SOCK_STREAM, 0)", socket.socket, socket.AF_INET6, socket.SOCK_STREAM, 0)
attempt("socket(AF_INET6, SOCK_DGRAM, 0)", socket.socket, socket.AF_INET6, socket.SOCK_DGRAM, 0)
attempt("socket(AF_INET6, SOCK_RAW, 58)", socket.socket, socket.AF_INET6, socket.SOCK_RAW, 58)
