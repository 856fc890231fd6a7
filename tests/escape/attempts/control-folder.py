# Offers another folder as its work directory.
# expect: {"anyEnd": true, "artifactTexts": ["own"]}
from esc import *

import array
import socket
import stat
import struct

open("own.txt", "w").write("own")
sent = 0
for path in ("/etc", "/", "/proc/self", "/opt/python/lib"):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(3, 1024):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
        except OSError:
            continue
        s = socket.socket(fileno=os.dup(number))
        contained("another work directory on descriptor %d" % number, "sent; the result is checked from outside")
        for frame in (struct.pack("<IIiI", 1, 0x3FFF, 6, 0), struct.pack("<I", 3), struct.pack("<IiIIQ", 5, 0, 0, 1, 0)):
            try:
                s.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd] * 8))], socket.MSG_DONTWAIT)
                sent += 1
            except OSError:
                pass
contained("another work directory", "%d frames sent; the result is checked from outside" % sent)
