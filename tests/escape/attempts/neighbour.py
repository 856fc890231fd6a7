# Reaches another task that runs at the same time: files, sockets, processes, signals.
# beside: neighbour
from esc import *

import signal
import socket

NAME = "mf-neighbour-" + "cd" * 8
for where, folders, names in os.walk("/"):
    if where == "/":
        folders[:] = [f for f in folders if f not in ("proc", "sys")]
    if any("mf-neighbour" in n for n in names + folders):
        escaped("a file of the neighbour", where)
contained("files of the neighbour", "not visible")
for address in ("\0" + NAME, "/tmp/" + NAME + ".sock", "/dev/shm/" + NAME + ".sock"):
    attempt("socket of the neighbour (%s)" % ("abstract" if address[0] == "\0" else address), lambda: socket.socket(socket.AF_UNIX).connect(address))
visible = [int(n) for n in os.listdir("/proc") if n.isdigit()]
for pid in visible:
    try:
        if b"mf-neighbour" in open("/proc/%d/cmdline" % pid, "rb").read():
            escaped("a process of the neighbour", pid)
    except OSError:
        pass
contained("processes of the neighbour", "%d visible" % len(visible))
for pid in range(3, 400):
    if pid == os.getpid():
        continue
    try:
        os.kill(pid, signal.SIGKILL)
        escaped("killed process %d" % pid)
    except OSError as e:
        last = reason(e)
contained("kill of 400 numbers", last)
