# BPF programs and maps.
from esc import *

need_x86_64()
attribute = ctypes.create_string_buffer(128)
for command in range(0, 12):
    call("bpf", command, attribute, 128, what="bpf %d" % command)
