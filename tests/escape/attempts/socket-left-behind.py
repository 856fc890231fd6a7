# Leaves sockets with names and messages in a cycle of messages, for the guest that gets the same network next.
# times: 4
from esc import *

import array
import socket

NAMES = ["\0left-%d" % n for n in range(8)]
for name in NAMES:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        s = socket.socket(socket.AF_UNIX, kind)
        attempt("reach %r, kind %d" % (name[1:], kind), s.connect, name)
        s.close()
try:
    with open("/proc/self/net/unix") as f:
        lines = [line for line in f if "@left" in line]
    escaped("names of the guest before", lines) if lines else contained("names in /proc", "none of the guest before")
except OSError as e:
    contained("/proc/self/net/unix", reason(e))
for name in NAMES:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_UNIX, kind)
        try:
            s.bind(name)
        except OSError as e:
            contained("bind %r" % name[1:], reason(e))
            continue
        if kind == socket.SOCK_STREAM:
            s.listen()
            client = socket.socket(socket.AF_UNIX, kind)
            client.connect(name)
            client.send(b"for the next one")
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        # each end of the pair lies in the queue of the other, with the named socket
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [a.fileno(), s.fileno()]))])
        b.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [b.fileno(), s.fileno()]))])
try:  # and in the queue of the machinery, which nobody may read in time
    control = socket.socket(fileno=os.dup(500))
    control.setblocking(False)
    control.sendmsg([b"x" * 100], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
except OSError as e:
    contained("the control socket", reason(e))
contained("names", "left behind")
