# Floods every socket it has for two seconds.
# expect: {"status": ["succeeded", "failed"], "limits": {"wallMs": 30000}, "stderr": {}}
# anyReason: true
import os
import stat
import time

sockets = []
for fd in range(3, 1024):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            os.set_blocking(fd, False)
            sockets.append(fd)
    except OSError:
        pass
end = time.monotonic() + 2
while time.monotonic() < end:
    for fd in sockets:
        try:
            os.write(fd, b"\x04\0\0\0" + bytes(248))
        except OSError:
            pass
