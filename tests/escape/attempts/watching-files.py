# Watches what all share, the image: what others read there, or makes them wait for it.
from esc import *

import fcntl

need_x86_64()
call("fanotify_init", 0, 0)
call("fanotify_init", 0x200, 0, what="fanotify_init (unprivileged)")
got, number = raw("inotify_init1", 0)
if got >= 0:
    escaped("inotify: it sees which files of the image others read")
else:
    contained("inotify", errno.errorcode[number])
for path in (os.path.dirname(os.__file__), os.__file__, "/"):
    fd = os.open(path, os.O_RDONLY)
    attempt("watch %s (F_NOTIFY)" % path, fcntl.fcntl, fd, fcntl.F_NOTIFY, fcntl.DN_ACCESS)
    for kind in (fcntl.F_RDLCK, fcntl.F_WRLCK):
        attempt("lease on %s" % path, fcntl.fcntl, fd, fcntl.F_SETLEASE, kind)
