# Reads and writes the memory of others.
from esc import *

need_x86_64()
buffer = ctypes.create_string_buffer(64)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


local, remote = Iovec(ctypes.addressof(buffer), 64), Iovec(id(sys), 64)
for pid in OTHERS | {PLANTED["pids"][0]}:
    call("process_vm_readv", pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0, what="process_vm_readv %d" % pid)
    call("process_vm_writev", pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0, what="process_vm_writev %d" % pid)
    call("kcmp", pid, os.getpid(), 1, 0, 0, what="kcmp %d" % pid)
call("process_madvise", 0, ctypes.byref(remote), 1, 21, 0)
call("process_mrelease", 0, 0)
call("move_pages", 1, 0, 0, 0, 0, 0)
call("migrate_pages", 1, 0, 0, 0)
