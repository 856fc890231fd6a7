# Sockets of AF_NETLINK.
from esc import *

import socket

attempt("socket(AF_NETLINK, SOCK_RAW, 0)", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)
attempt("socket(AF_NETLINK, SOCK_RAW, 4)", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 4)
attempt("socket(AF_NETLINK, SOCK_RAW, 9)", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 9)
attempt("socket(AF_NETLINK, SOCK_RAW, 15)", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 15)
attempt("socket(AF_NETLINK, SOCK_RAW, 16)", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 16)
attempt("route table", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).bind((0, 0)))
attempt("if_nameindex", lambda: socket.if_nameindex() or 1 / 0)
