# No file of the image gives powers to who starts it.
from esc import *

import stat

count = 0
for where, folders, names in os.walk("/"):
    if where == "/":
        folders[:] = [f for f in folders if f not in ("proc", "sys", "mnt")]
    for name in names:
        try:
            st = os.lstat(os.path.join(where, name))
        except OSError:
            continue
        count += 1
        if stat.S_ISREG(st.st_mode) and st.st_mode & (stat.S_ISUID | stat.S_ISGID):
            escaped("set-user-id file", os.path.join(where, name))
        if stat.S_ISBLK(st.st_mode):
            escaped("block device", os.path.join(where, name))
        if stat.S_ISCHR(st.st_mode) and (os.major(st.st_rdev), os.minor(st.st_rdev)) not in {(1, 3), (1, 5), (1, 8), (1, 9), (1, 7)}:
            escaped("character device", os.path.join(where, name))
contained("set-user-id files and devices", "none among %d files" % count)
