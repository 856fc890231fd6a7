# Artifacts that point elsewhere.
# expect: {"artifacts": []}
from esc import *

for number, path in enumerate([*PLANTED["files"], "/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/proc/1/root/etc/passwd", sys.executable, "/opt/mayfly/boot.py"]):
    os.symlink(path, "link-%d" % number)
    try:
        os.link(path, "hard-%d" % number)
        escaped("hard link to " + path) if not path.startswith("/proc/self") else None
    except OSError as e:
        contained("hard link to " + path, reason(e))
os.symlink("/", "root")
os.symlink("../../../../..", "up")
os.symlink("/proc/self/fd/0", "fd")
os.mkfifo("fifo")
try:
    os.mknod("device", 0o20666, os.makedev(1, 5))
    escaped("device node")
except OSError as e:
    contained("device node", reason(e))
import socket
socket.socket(socket.AF_UNIX).bind("socket")
os.makedirs("d/e")
os.symlink("/etc", "d/e/etc")
contained("artifacts", "made; the result is checked from outside")
