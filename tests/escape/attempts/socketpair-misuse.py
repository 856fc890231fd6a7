# Socket pairs of other families, and false credentials over a pair.
from esc import *

import socket
import struct

for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK, 30):
    attempt("socketpair of family %d" % family, socket.socketpair, family, socket.SOCK_STREAM)
a, b = socket.socketpair()
b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
for pid, uid in ((1, os.getuid()), (os.getpid(), 0 if os.getuid() else 12345), (PLANTED["pids"][0], os.getuid())):
    attempt("credentials of pid %d, uid %d" % (pid, uid), a.sendmsg, [b"x"], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("3i", pid, uid, os.getgid()))])
