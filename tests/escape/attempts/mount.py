# Mounts by the old calls.
from esc import *

need_x86_64()
os.mkdir("m")
for source, target, kind, flags in (("tmpfs", "m", "tmpfs", 0), ("proc", "m", "proc", 0), ("/", "m", "", 4096), ("none", "/", "", 32 | 4096), ("none", "/", "", 1 << 18),
                                    ("overlay", "m", "overlay", 0), ("sysfs", "m", "sysfs", 0), ("devpts", "m", "devpts", 0), ("cgroup2", "m", "cgroup2", 0)):
    call("mount", source.encode(), target.encode(), kind.encode(), flags, 0, what="mount %s (%x)" % (kind or source, flags))
for target in ("/mnt", "/proc", "/", "/dev", "/mnt/data", "/tmp"):
    call("umount2", target.encode(), 2, what="umount " + target)
