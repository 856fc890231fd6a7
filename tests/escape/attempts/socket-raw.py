# Sockets of AF_INET.
from esc import *

import socket

attempt("socket(AF_INET, SOCK_RAW, 1)", socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
attempt("socket(AF_INET, SOCK_RAW, 255)", socket.socket, socket.AF_INET, socket.SOCK_RAW, 255)
attempt("socket(AF_INET, SOCK_DGRAM, 1)", socket.socket, socket.AF_INET, socket.SOCK_DGRAM, 1)
