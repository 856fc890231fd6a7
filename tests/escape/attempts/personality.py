# Another personality: no randomisation, executable data.
from esc import *

need_x86_64()
for value in (0x0040000, 0x0400000, 0x8):
    call("personality", value, what="personality %x" % value)
