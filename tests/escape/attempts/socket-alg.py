# Sockets of AF_ALG.
from esc import *

import socket

attempt("socket(AF_ALG, SOCK_SEQPACKET, 0)", socket.socket, socket.AF_ALG, socket.SOCK_SEQPACKET, 0)
attempt("bind of a cipher", lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).bind(("skcipher", "cbc(aes)")))
