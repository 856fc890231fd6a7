# Walks the whole tree that can be seen and looks for a planted file.
from esc import *

seen = 0
for where, folders, names in os.walk("/"):
    if where == "/":
        folders[:] = [f for f in folders if f not in ("proc", "sys")]
    seen += len(names)
    for name in names + folders:
        if hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest() == PLANTED["nameSha256"]:
            escaped("a planted file is visible", where)
contained("walk of / (%d names)" % seen, "nothing of the host")
mounts = open("/proc/self/mountinfo").read() if os.path.exists("/proc/self/mountinfo") else ""
for line in mounts.splitlines():
    target, options, super_options = line.split()[4], line.split()[5], line.split()[-1]
    if target.startswith("/dev/") and os.path.exists(target) and not os.path.isdir(target):
        continue  # a harmless device, such as /dev/null
    if "rw" in options.split(",") and not target.startswith(("/mnt", "/proc", "/dev/shm", "/tmp")) and "rw" in super_options.split(","):
        escaped("a writable mount at " + target)
contained("mounts", "only the sandbox's own are writable")
