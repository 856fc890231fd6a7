# Kernel keyrings, which sandboxes of one user would share.
from esc import *

need_x86_64()
call("add_key", b"user", b"mf", b"payload", 7, -3)
call("request_key", b"user", b"mf", 0, 0)
for operation in (0, 1, 5, 6, 10, 11, 22):
    call("keyctl", operation, -3, 0, 0, 0, what="keyctl %d" % operation)
