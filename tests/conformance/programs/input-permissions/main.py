import os
import stat
import time

st = os.stat("a.txt")
print(oct(stat.S_IMODE(st.st_mode) & 0o111), os.access("a.txt", os.W_OK), st.st_uid == os.getuid(), st.st_nlink)
print(abs(time.time() - st.st_mtime) < 86400)
