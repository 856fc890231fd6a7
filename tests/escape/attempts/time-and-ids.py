# Learns what the host is called, who is on it, how long it has been up.
from esc import *

import socket

if socket.gethostname() == PLANTED["hostname"] and PLANTED["hostname"] not in ("localhost", ""):
    escaped("the host's name", socket.gethostname())
contained("host name", socket.gethostname())
for path in ("/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/proc/version", "/proc/uptime", "/proc/loadavg", "/proc/meminfo", "/proc/mounts", "/proc/self/mounts"):
    try:
        data = open(path, "rb").read()
        escaped(path) if PLANTED["hostname"].encode() in data and len(PLANTED["hostname"]) > 4 else contained(path, "nothing of the host")
    except OSError as e:
        contained(path, reason(e))
