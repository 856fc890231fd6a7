# Kills process groups and sessions by number.
from esc import *

import signal

for group in [1, 2, os.getsid(0), os.getpgid(0), *PLANTED["groups"]]:
    if group in (os.getpgrp(), 0):
        continue
    attempt("killpg %d" % group, os.killpg, group, signal.SIGKILL)
for pid in PLANTED["pids"]:
    attempt("setpgid to a group outside", os.setpgid, 0, pid)
contained("groups", "none of the outside")
