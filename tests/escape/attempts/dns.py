# Asks for a name.
from esc import *

import socket

for name in ("localhost.example.com", "example.com"):
    attempt("getaddrinfo " + name, socket.getaddrinfo, name, 443)
attempt("gethostbyname", socket.gethostbyname, "example.com")
