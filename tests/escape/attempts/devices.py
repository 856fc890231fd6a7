# Device nodes, made or found.
from esc import *

import stat

for name, kind, device in (("mem", stat.S_IFCHR, (1, 1)), ("sda", stat.S_IFBLK, (8, 0)), ("null", stat.S_IFCHR, (1, 3)), ("tun", stat.S_IFCHR, (10, 200))):
    for folder in ("/mnt/data", "/tmp", "/dev/shm", "/dev"):
        attempt("mknod %s in %s" % (name, folder), os.mknod, os.path.join(folder, name), kind | 0o666, os.makedev(*device))
for path in ("mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "xvda", "loop0", "loop-control", "fuse", "kvm", "net/tun", "mapper/control", "btrfs-control",
             "uinput", "input/event0", "dri/card0", "nvidia0", "cpu/0/msr", "hpet", "rtc0", "watchdog", "vhost-net", "vfio/vfio", "snapshot", "cuse", "raw/rawctl"):
    attempt("open /dev/" + path, os.open, "/dev/" + path, os.O_RDONLY)
