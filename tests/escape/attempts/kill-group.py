# kill(0, 9): the own process group, which must not be the machinery's.
# expect: {"status": "failed", "signal": 9}
from esc import *

import signal

contained("kill 0", "the group is its own: %s" % (os.getpgrp() == os.getpid() or os.getpgrp()))
os.kill(0, signal.SIGKILL)
