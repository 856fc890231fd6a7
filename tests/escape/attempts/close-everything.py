# Closes every descriptor, then ends.
# expect: {"anyEnd": true}
from esc import *

contained("closing everything", "nothing to gain")
sys.stdout.flush()
os.closerange(0, 4096)
