"""What may be left behind: processes, cgroups, mounts, temporary files, descriptors, System V objects.

The suite makes itself the subreaper, so whatever escapes from a killed driver becomes a descendant of the suite and is
found here, however many other programs use the machine."""
import ctypes
import os
import re
import time

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _stat(pid):
    """(ppid, state, start time) of a process, or None."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            fields = f.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[0].decode(), int(fields[19])


def processes():
    """{pid: (ppid, state, start time)} of the whole machine."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = _stat(int(name))
            if stat:
                found[int(name)] = stat
    return found


def descendants(root):
    """{pid: (ppid, state, start time)} of every process below `root`, zombies included."""
    everything = processes()
    kids = {}
    for pid, (ppid, _, _) in everything.items():
        kids.setdefault(ppid, []).append(pid)
    found, queue = {}, list(kids.get(root, []))
    while queue:
        pid = queue.pop()
        if pid not in found:
            found[pid] = everything[pid]
            queue += kids.get(pid, [])
    return found


def is_alive(pid, start):
    stat = _stat(pid)
    return stat is not None and stat[2] == start and stat[1] not in "ZX"


def command_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            line = f.read().replace(b"\0", b" ").decode(errors="replace").strip()
        with open("/proc/%d/comm" % pid, "rb") as f:
            return line or f.read().decode(errors="replace").strip()
    except OSError:
        return "?"


def reap(keep=()):
    """Waits for adopted orphans that have ended; `keep` are children that somebody else waits for."""
    for pid, (ppid, state, _) in descendants(os.getpid()).items():
        if ppid == os.getpid() and state == "Z" and pid not in keep:
            try:
                os.waitpid(pid, os.WNOHANG)
            except OSError:
                pass


def _is_anothers(name):
    """mayfly-<pid>-<start time>… (or mayfly-host-…) of a living supervisor that is not ours: other runs of the machine."""
    match = re.match(r"mayfly-(?:host-)?(\d+)-(\d+)(?:-|$)", name)
    if not match:
        return False
    pid, start = int(match[1]), int(match[2])
    return is_alive(pid, start) and pid not in descendants(os.getpid())


def _may_be_ours(path):
    """An ordinary user makes nothing that belongs to somebody else; root's suites also run programs as others."""
    try:
        return os.geteuid() in (0, os.lstat(path).st_uid)
    except OSError:
        return False


def _own_groups():
    """The folders below which a supervisor of ours may put its groups: our own, and in the unified tree its parent."""
    found = set()
    try:
        with open("/proc/self/cgroup") as f:
            lines = [line.rstrip("\n").split(":", 2) for line in f]
    except OSError:
        return found
    for number, controllers, path in lines:
        if number == "0":
            for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
                found.update((base + path, base + os.path.dirname(path)))
        for controller in controllers.split(","):
            if controller in ("memory", "pids"):
                found.add("/sys/fs/cgroup/" + controller + path)
    return {os.path.normpath(folder) for folder in found}


def _cgroups():
    found = set()
    for folder in _own_groups():
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        found.update(os.path.join(folder, n) for n in names if n.startswith("mayfly-") and not _is_anothers(n))
    return {path for path in found if _may_be_ours(path)}


def dead_cgroups():
    """Groups of supervisors that have ended, whoever started them."""
    found = set()
    for path in _cgroups():
        numbers = os.path.basename(path).split("-")[-2:]
        if len(numbers) == 2 and all(n.isdigit() for n in numbers) and not is_alive(int(numbers[0]), int(numbers[1])):
            found.add(path)
    return found


def strays(keep):
    """Descendants of ours that belong to no process of `keep`: what a killed one left behind."""
    allowed = set(keep)
    for pid in keep:
        allowed.update(descendants(pid))
    reap(keep)
    return {pid: stat for pid, stat in descendants(os.getpid()).items() if pid not in allowed}


def strays_left(keep=(), patience_s=60):
    """A sentence for each stray that is still there after the patience: a killed one's processes take a moment to end."""
    end = time.monotonic() + patience_s
    while strays(keep) and time.monotonic() < end:
        time.sleep(0.05)
    return ["process %d is left (%s)" % (pid, command_of(pid)) for pid in strays(keep)]


def _temporary():
    found = set()
    for place in {"/tmp", "/dev/shm", "/run", "/var/tmp", os.environ.get("TMPDIR", "/tmp")}:
        try:
            found.update(os.path.join(place, n) for n in os.listdir(place)
                         if ("mayfly" in n or n.startswith("mf_")) and not _is_anothers(n))
        except OSError:
            pass
    return {path for path in found if _may_be_ours(path)}


def _sysv():
    found = set()
    for kind in ("shm", "msg", "sem"):
        try:
            with open("/proc/sysvipc/" + kind) as f:
                found.update("%s %s" % (kind, " ".join(line.split()[:2])) for line in f.readlines()[1:])
        except OSError:
            pass
    return found


def _mounts():
    """Those that could be ours: at or from the runtime, the build, or a place that a sandbox uses."""
    places_of_ours = ("mayfly", "rootfs", "/zygote", " /mnt", " /opt")
    with open("/proc/self/mountinfo") as f:
        return {" ".join(line.split()[2:5]) for line in f if any(p in line for p in places_of_ours)}


def open_fds(pid):
    try:
        return len(os.listdir("/proc/%d/fd" % pid))
    except OSError:
        return -1


def resident_bytes(pid):
    try:
        with open("/proc/%d/statm" % pid) as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return -1


class Snapshot:
    """Taken before; `left()` afterwards names what is new and does not go away within the patience."""

    def __init__(self):
        self.before = self._look()
        self.known = set(descendants(os.getpid()))

    @staticmethod
    def _look():
        return {"cgroup": _cgroups(), "mount": _mounts(), "temporary file": _temporary(), "System V object": _sysv()}

    def left(self, keep=(), patience_s=15):
        """`keep`: process ids that may stay, with everything below them."""
        end = time.monotonic() + patience_s
        while True:
            reap(keep)
            problems = []
            allowed = set(keep)
            for pid in keep:
                allowed.update(descendants(pid))
            for pid, (_, state, _) in descendants(os.getpid()).items():
                if pid not in allowed and pid not in self.known:
                    problems.append("process %d is left (%s, state %s)" % (pid, command_of(pid), state))
            now = self._look()
            for kind, things in now.items():
                if kind == "cgroup" and keep:
                    continue  # a living supervisor has its own
                problems += ["%s is left: %s" % (kind, thing) for thing in sorted(things - self.before[kind])]
            if not problems or time.monotonic() > end:
                return problems
            time.sleep(0.1)
