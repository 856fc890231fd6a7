# Leaves its control group, or changes its limits.
from esc import *

for line in open("/proc/self/cgroup") if os.path.exists("/proc/self/cgroup") else []:
    number, controllers, path = line.strip().split(":", 2)
    if "mayfly" in path:
        escaped("the name of its group outside", path)
    for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/" + controllers, "/sys/fs/cgroup/unified"):
        for name in ("cgroup.procs", "tasks", "memory.max", "memory.limit_in_bytes", "pids.max", "cgroup.kill"):
            attempt("write %s of %s" % (name, controllers or "the unified tree"), lambda: open(base + path + "/" + name, "w").write("0"))
attempt("mkdir in the tree", os.mkdir, "/sys/fs/cgroup/mf")
contained("control groups", "not reachable")
