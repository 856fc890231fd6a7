# kill(-1): everything that can be reached.
from esc import *

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in (signal.SIGTERM, signal.SIGKILL):
    try:
        os.kill(-1, number)
        contained("kill -1", "reached only its own")
    except OSError as e:
        contained("kill -1", reason(e))
