# TCP to a listener on the host's loopback address, IPv4 and IPv6.
from esc import *

import socket

for host, port in PLANTED["tcp"]:
    attempt("connect to %s" % host, socket.create_connection, (host, port), timeout=3)
    for family in (socket.AF_INET, socket.AF_INET6):
        attempt("socket of family %d" % family, lambda: socket.socket(family, socket.SOCK_STREAM).connect((host, port)))
