"""The machine in words that say what a figure is worth, and nothing that names it."""
import os
import platform
import re
import time


DATA_MAP_KB = 100 * 1024


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def describe():
    cpuinfo = _read("/proc/cpuinfo")
    model = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", cpuinfo, re.M)
    memory = re.search(r"^MemTotal:\s+(\d+) kB", _read("/proc/meminfo"), re.M)
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]+)', _read("/etc/os-release"), re.M)
    flags = re.search(r"^flags\s*:\s*(.+)$", cpuinfo, re.M)
    return {
        "cpu": model.group(1).strip() if model else platform.machine(),
        "architecture": platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "memoryGiB": round(int(memory.group(1)) / 2**20) if memory else None,
        "virtual": "hypervisor" in flags.group(1).split() if flags else None,
        "kernel": platform.release(),
        "system": pretty.group(1) if pretty else None,
        "asRoot": os.geteuid() == 0,
    }


def host_class(machine):
    """A short name for machines of this kind: "2cpu-x86_64-vm"."""
    return f"{machine['processors']}cpu-{machine['architecture']}" + ("-vm" if machine["virtual"] else "")


def _stat():
    fields = [int(x) for x in _read("/proc/stat").splitlines()[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4], fields[7]


class Watch:
    """How busy the processors are, and how much of them the host took for others, since its making."""

    def __init__(self):
        self.since = _stat()

    def shares(self):
        now = _stat()
        total = max(1, now[0] - self.since[0])
        return round(1 - (now[1] - self.since[1]) / total, 3), round((now[2] - self.since[2]) / total, 4)


def busy_before(seconds):
    """The share of the processors that others use while we do nothing: figures of a busy machine are worth little."""
    watch = Watch()
    time.sleep(seconds)
    return watch.shares()[0]


def idle_guests(driver_pid):
    """Private memory (bytes) of the idle sandboxes below a driver, by runtime kind: {"data": [...], "stdlib": [...]}. Empty
    where this user may not look. An idle guest is the first process of its own pid namespace's work: one more level than
    its zygote's."""
    parents, levels = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        status = _read(f"/proc/{name}/status")
        ppid = re.search(r"^PPid:\s+(\d+)", status, re.M)
        nspid = re.search(r"^NSpid:\s+(.+)$", status, re.M)
        if ppid and nspid:
            parents[int(name)] = int(ppid.group(1))
            levels[int(name)] = nspid.group(1).split()
    found = {"data": [], "stdlib": []}
    for pid, numbers in levels.items():
        above, steps = pid, 0
        while above and above != driver_pid and steps < 16:
            above, steps = parents.get(above, 0), steps + 1
        # Number 1 of the innermost namespace is the little init, which has the zygote's memory and none of its own.
        if above != driver_pid or len(numbers) < 3 or numbers[-1] == "1":
            continue
        rollup = _read(f"/proc/{pid}/smaps_rollup")
        private = [int(x) for x in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB", rollup, re.M)]
        if not private:
            continue
        # A checkpointed guest's map names no library, but numpy alone doubles a bare Python's address space.
        size = re.search(r"^VmSize:\s+(\d+) kB", _read(f"/proc/{pid}/status"), re.M)
        found["data" if size and int(size.group(1)) > DATA_MAP_KB else "stdlib"].append(sum(private) * 1024)
    return found


def rss_kb(pid):
    found = re.search(r"^VmRSS:\s+(\d+) kB", _read(f"/proc/{pid}/status"), re.M)
    return int(found.group(1)) if found else None
