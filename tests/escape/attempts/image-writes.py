# Changes the image that all sandboxes share.
from esc import *

import json as module

for path in (sys.executable, os.path.realpath(sys.executable), module.__file__, os.__file__, "/etc/passwd", "/opt/mayfly/boot.py"):
    attempt("open for writing " + path, lambda: open(path, "r+b"))
    attempt("chmod " + path, os.chmod, path, 0o777)
    attempt("unlink " + path, os.unlink, path)
    attempt("rename " + path, os.rename, path, path + ".old")
    attempt("truncate " + path, os.truncate, path, 0)
    attempt("utime " + path, os.utime, path)
    attempt("setxattr " + path, os.setxattr, path, "user.x", b"1")
for folder in ("/", "/etc", "/usr", "/usr/lib", "/opt", "/opt/python", os.path.dirname(os.__file__), "/dev", "/proc", "/var"):
    attempt("create in " + folder, lambda: open(os.path.join(folder, "new-file"), "w"))
    attempt("mkdir in " + folder, os.mkdir, os.path.join(folder, "new-folder"))
    attempt("symlink in " + folder, os.symlink, "/mnt/data", os.path.join(folder, "new-link"))
