# Kills the first process of its namespace, and its parent.
from esc import *

import signal

for pid in OTHERS:
    for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(pid, number)
            contained("kill %d %s" % (pid, signal.Signals(number).name), "no effect")
        except OSError as e:
            contained("kill %d %s" % (pid, signal.Signals(number).name), reason(e))
contained("kill of the first process", "still here")
