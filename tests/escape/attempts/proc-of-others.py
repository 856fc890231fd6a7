# Sees processes, command lines or environments of others.
from esc import *

pids = [n for n in os.listdir("/proc") if n.isdigit()]
if len(pids) > 8:
    escaped("many processes are visible", pids)
for pid in pids + [str(p) for p in PLANTED["pids"]]:
    for name in ("cmdline", "environ", "status", "maps", "stat", "fd", "cwd", "root", "exe", "mem", "syscall", "stack"):
        path = "/proc/%s/%s" % (pid, name)
        try:
            data = os.readlink(path).encode() if name in ("cwd", "root", "exe") else repr(os.listdir(path)).encode() \
                if name == "fd" else open(path, "rb").read(1 << 20)
        except (OSError, OverflowError) as e:
            data = b""
        if is_planted(data) or (data and int(pid) in PLANTED["pids"]):
            escaped("read " + path, data[:80])
contained("/proc of others", "%d processes visible, none of them another's" % len(pids))
for name in ("kcore", "kmsg", "sysrq-trigger", "kallsyms", "slabinfo", "iomem", "keys", "timer_list", "vmallocinfo", "interrupts", "bus/pci/devices"):
    attempt("open /proc/" + name, lambda: open("/proc/" + name, "rb").read(64))
