# Kernel settings and sysfs.
from esc import *

for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory",
             "/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger",
             "/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run", "/sys/power/state", "/sys/class/net/lo/mtu", "/sys/fs/cgroup/cgroup.procs",
             "/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/memory/release_agent", "/sys/kernel/debug/sched_features",
             "/sys/kernel/security/apparmor/profiles", "/sys/firmware/efi/efivars", "/sys/module/kernel/parameters/consoleblank"):
    attempt("write " + path, lambda: open(path, "w").write("1"))
attempt("list /sys/class/net", lambda: [n for n in os.listdir("/sys/class/net")])
attempt("list /sys/fs/cgroup", lambda: os.listdir("/sys/fs/cgroup") or 1 / 0)
attempt("read /proc/net/tcp", lambda: open("/proc/net/tcp").read())
attempt("read /proc/net/unix", lambda: open("/proc/net/unix").read())
attempt("read /proc/cmdline", lambda: open("/proc/cmdline").read())
