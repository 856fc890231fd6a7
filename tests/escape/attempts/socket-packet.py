# Sockets of AF_PACKET.
from esc import *

import socket

attempt("socket(AF_PACKET, SOCK_RAW, 3)", socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3)
attempt("socket(AF_PACKET, SOCK_DGRAM, 3)", socket.socket, socket.AF_PACKET, socket.SOCK_DGRAM, 3)
