import socket

socket.create_connection(("203.0.113.7", 443), timeout=5)
