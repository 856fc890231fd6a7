# Mounts by the new calls.
from esc import *

need_x86_64()
call("fsopen", b"tmpfs", 0)
call("fsopen", b"proc", 0, what="fsopen proc")
call("fspick", -100, b"/", 0)
call("open_tree", -100, b"/", 1, what="open_tree clone")
call("open_tree", -100, b"/mnt/data", 1 | 0x8000, what="open_tree clone recursive")
call("move_mount", -100, b"/mnt", -100, b"/tmp", 0)
call("fsmount", 0, 0, 0)
call("fsconfig", 0, 0, 0, 0, 0)
call("mount_setattr", -100, b"/", 0x8000, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)
