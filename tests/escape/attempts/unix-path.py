# A local socket of the host, by path.
from esc import *

import socket

for path in PLANTED["unixPaths"]:
    for prefix in ("", "/proc/1/root", "/proc/self/root"):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            attempt("connect to %s%s (%d)" % (prefix, os.path.dirname(path), kind),
                    lambda: socket.socket(socket.AF_UNIX, kind).connect(prefix + path))
for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/containerd/containerd.sock"):
    attempt("connect to " + path, lambda: socket.socket(socket.AF_UNIX).connect(path))
