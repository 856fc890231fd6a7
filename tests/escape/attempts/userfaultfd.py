# userfaultfd, a help for exploits.
from esc import *

need_x86_64()
for flags in (0, 1, 0x80000, 0x80801):
    call("userfaultfd", flags, what="userfaultfd %x" % flags)
attempt("/dev/userfaultfd", open, "/dev/userfaultfd", "rb")
