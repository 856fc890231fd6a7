# Writes garbage on every socket that it has, and forged words of success.
# expect: {"anyEnd": true}
from esc import *

import socket
import stat
import struct

sent = 0
text = b"x" * 240
frames = [struct.pack("<IiIII", 5, 0, 0, 0, 0), struct.pack("<IiIIQ", 5, 0, 0, 0, 0), struct.pack("<IIIiQ", 5, 77, 0, 1, 0), struct.pack("<I", 3),
          struct.pack("<IIiI", 1, 0xFFFFFFFF, 99, 0), struct.pack("<III240s", 4, 1, 240, text), struct.pack("<III240s", 4, 1, 0xFFFFFFFF, text),
          struct.pack("<Ii64s240s", 6, 13, b"step" * 16, text), b"", b"\0", b"\xff" * 4096, struct.pack("<II", 0xFFFFFFFF, 0), bytes(65536)]
for fd in range(3, 1024):
    try:
        if not stat.S_ISSOCK(os.fstat(fd).st_mode):
            continue
    except OSError:
        continue
    s = socket.socket(fileno=os.dup(fd))
    s.setblocking(False)
    contained("forged frames on descriptor %d" % fd, "sent; nothing outside is hurt")
    for _ in range(200):
        for frame in frames:
            try:
                s.send(frame)
                sent += 1
            except OSError as e:
                last = reason(e)
contained("forged frames", "%d sent; nothing outside is hurt" % sent)
sys.exit(9)
