# fanotify sees the files of all; inotify only what one can see anyway.
from esc import *

need_x86_64()
call("fanotify_init", 0, 0)
call("fanotify_init", 0x200, 0, what="fanotify_init (unprivileged)")
got, number = raw("inotify_init1", 0)
contained("inotify", "only files that it can read" if got >= 0 else errno.errorcode[number])
