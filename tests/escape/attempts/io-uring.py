# io_uring, which does system calls that a filter does not see.
from esc import *

need_x86_64()
call("io_uring_setup", 8, ctypes.create_string_buffer(120))
call("io_uring_enter", 0, 1, 0, 0, 0, 0)
call("io_uring_register", -1, 0, 0, 0)
call("io_setup", 8, ctypes.byref(ctypes.c_ulong(0)), what="io_setup (the older kind)")
