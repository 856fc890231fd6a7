import socket

try:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).connect(("198.51.100.1", 80))
except OSError as e:
    print(type(e).__name__)
