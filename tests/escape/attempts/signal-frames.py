# Ends by a signal at the very moment a word of success is sent.
# expect: {"status": "failed", "signal": 9}
from esc import *

import atexit
import signal

atexit.register(lambda: os.kill(os.getpid(), signal.SIGKILL))
contained("ends inside atexit", "by signal 9")
