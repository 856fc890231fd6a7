# A socket made of a descriptor is of whatever family that has: no network was asked for.
import os
import socket

a, b = socket.socketpair()
c = socket.socket(fileno=os.dup(a.fileno()))
c.send(b"through the copy")
print(b.recv(100), c.family.name)
socket.socket(fileno=c.detach()).close()
