# perf_event_open.
from esc import *

need_x86_64()
attribute = ctypes.create_string_buffer(128)
ctypes.memmove(attribute, bytes([1, 0, 0, 0, 128, 0, 0, 0]), 8)
for pid, cpu in ((0, -1), (-1, 0), (1, -1)):
    call("perf_event_open", attribute, pid, cpu, -1, 0, what="perf_event_open %d %d" % (pid, cpu))
