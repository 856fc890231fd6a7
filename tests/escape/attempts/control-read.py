# Reads what the machinery says to it.
from esc import *

import socket
import stat

for fd in range(3, 1024):
    try:
        if not stat.S_ISSOCK(os.fstat(fd).st_mode):
            continue
    except OSError:
        continue
    s = socket.socket(fileno=os.dup(fd))
    s.setblocking(False)
    try:
        data, ancillary, _, _ = s.recvmsg(1 << 16, 4096)
        escaped("read from the control socket", (len(data), ancillary)) if ancillary or is_planted(data) else contained("control socket", "%d bytes" % len(data))
    except OSError as e:
        contained("control socket", reason(e))
    cred = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid = int.from_bytes(cred[:4], "little", signed=True)
    if pid in PLANTED["pids"]:
        escaped("the number of a process outside", pid)
contained("control sockets", "read")
