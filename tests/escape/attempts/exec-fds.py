# A program started by a guest inherits nothing but its three streams.
from esc import *

import subprocess

code = "import os\nfds = []\nfor fd in range(3, 1024):\n    try: os.fstat(fd); fds.append((fd, os.readlink('/proc/self/fd/%d' % fd)))\n    except OSError: pass\nprint(fds)"
out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, close_fds=False).stdout.strip()
contained("descriptors after exec", "none") if out == "[]" else escaped("descriptors after exec", out)
