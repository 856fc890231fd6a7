# Climbs out with "..", descriptors of folders, and moved folders.
from esc import *

fd = os.open("/mnt/data", os.O_RDONLY | os.O_DIRECTORY)
for _ in range(40):
    fd = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
here, root = os.fstat(fd), os.stat("/")
if (here.st_dev, here.st_ino) != (root.st_dev, root.st_ino):
    escaped("above the root")
contained("40 times ..", "ends at the sandbox's root")
os.makedirs("a/b")
inner = os.open("a/b", os.O_RDONLY | os.O_DIRECTORY)
os.rename("a/b", "/tmp/b") if os.stat("/tmp").st_dev == os.stat(".").st_dev else None
up = inner
for _ in range(40):
    up = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=up)
if os.fstat(up).st_ino != root.st_ino:
    escaped("above the root after a rename")
contained("a moved folder", "ends at the sandbox's root")
for path in PLANTED["files"]:
    attempt("read from there", lambda: os.open(path.lstrip("/"), os.O_RDONLY, dir_fd=up))
