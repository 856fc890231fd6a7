# Reads files of the host by every kind of path.
from esc import *

for path in PLANTED["files"]:
    for prefix in ("", "/proc/self/root", "/proc/self/cwd/../../../../../..", "/proc/1/root", "/mnt/data/../../../../..", "/mnt/../.."):
        attempt("read " + prefix + os.path.dirname(path), lambda: open(prefix + path, "rb").read())
for path in ("/etc/shadow", "/root/.bashrc", "/root/.ssh/id_rsa", "/var/log/syslog", "/etc/machine-id", "/run/utmp", "/boot", "/home"):
    try:
        data = open(path, "rb").read() if not os.path.isdir(path) else repr(os.listdir(path)).encode()
    except OSError as e:
        contained("read " + path, reason(e))
    else:
        # The image may have a file of this name; it must not be the host's.
        digest = hashlib.sha256(data).hexdigest()
        escaped(path) if digest in PLANTED["hostDigests"] or is_planted(data) else contained("read " + path, "the image's own")
