# A task takes all that the user of the sandboxes may have, so that others find nothing, or are not even made.
# beside: hoard
# times: 6
from esc import *

timer = ctypes.c_void_p()
if libc.timer_create(1, None, ctypes.byref(timer)) == 0:
    contained("timers of all taken by one", "there are more")
else:
    escaped("timers of all taken by one")
contained("descriptors of all taken by one", "this task was made")
