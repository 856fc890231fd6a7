# A datagram to a listener on the host.
from esc import *

import socket

for host, port in PLANTED["udp"]:
    for family in (socket.AF_INET, socket.AF_INET6):
        attempt("sendto %s" % host, lambda: socket.socket(family, socket.SOCK_DGRAM).sendto(PLANTED["hello"].encode(), (host, port)))
