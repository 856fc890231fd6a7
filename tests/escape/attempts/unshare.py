# New namespaces with unshare.
from esc import *

need_x86_64()
for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("pid", 0x20000000), ("net", 0x40000000), ("ipc", 0x8000000), ("uts", 0x4000000),
                   ("cgroup", 0x2000000), ("time", 0x80), ("user and mount", 0x10020000)):
    call("unshare", flag, what="unshare " + name)
