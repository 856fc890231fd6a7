#!/usr/bin/env python3
"""What a worker process of the wasm provider really holds and may do, read from /proc of a live one: idle, and while a
program runs. Not what it says of itself: what the kernel says."""
import ctypes
import os
import re
import resource
import struct
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

OPTIONS = ["--provider", "wasm", "--max-running", "2"]
SECRET = "secret-of-the-provider"
SYS_PIDFD_GETFD = 438
WORKER_UID = "1835401218"
BUSY = "print('at work', flush=True)\nopen('f', 'w').write('x' * 1000)\nimport time\ntime.sleep(20)\n"
# Open of a worker: 0, 1, 2; its socket; its timer; the job while it works; what a memory in its engine is; and which of
# its own pages it has written.
ALLOWED = (r"/dev/null", r"socket:\[\d+\]", r"anon_inode:\[timerfd\]", r"/memfd:mayfly-(job|guest)[^ ]* \(deleted\)",
           r"/memfd:wasm[^ ]* \(deleted\)", r"/proc/\d+/pagemap")
LIMITS = {"Max core file size": "0", "Max open files": None, "Max processes": "0", "Max file size": None}
OPEN_MOST, FILE_MOST = 1024, 64 << 20


def read(pid, name):
    with open("/proc/%d/%s" % (pid, name), "rb") as f:
        return f.read().decode(errors="replace")


def status_of(pid, task=None):
    text = read(pid, "task/%s/status" % task if task else "status")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def fds(pid):
    folder = "/proc/%d/fd" % pid
    return {int(n): os.readlink(os.path.join(folder, n)) for n in os.listdir(folder)}


def limits_of(pid):
    return {m[1].strip(): m[2] for m in re.finditer(r"^(Max [a-z ]+?)  +(\S+)", read(pid, "limits"), re.M)}


def fd_problems(pid):
    problems = []
    for n, what in sorted(fds(pid).items()):
        if not any(re.fullmatch(p, what) for p in ALLOWED):
            problems.append("descriptor %d is %s" % (n, what))
        if (what == "/dev/null") != (n < 3):
            problems.append("descriptor %d is %s" % (n, what))
    return problems


def pagemap_problems(pid):
    """It is its own map, and does not tell where a page is in the machine's memory."""
    problems = []
    for n, what in fds(pid).items():
        if not what.endswith("/pagemap"):
            continue
        if what != "/proc/%d/pagemap" % pid:
            problems.append("descriptor %d is %s" % (n, what))
        pidfd = os.pidfd_open(pid)
        copy = ctypes.CDLL(None, use_errno=True).syscall(SYS_PIDFD_GETFD, pidfd, n, 0)  # with the rights of who opened it
        os.close(pidfd)
        if copy < 0:
            continue  # not allowed: then it is not root who opened it
        starts = [int(line.split("-")[0], 16) for line in read(pid, "maps").splitlines()[:200]]
        entries = [struct.unpack("Q", os.pread(copy, 8, s // 4096 * 8) or bytes(8))[0] for s in starts if s < 1 << 47]
        os.close(copy)
        if not any(e >> 63 for e in entries):
            problems.append("no page is present: this tests nothing")
        problems += ["a physical address: %#x" % e for e in entries if e >> 63 and e & ((1 << 55) - 1)][:3]
    return problems


def socket_problems(pid, other):
    """One socket, and nobody else's."""
    mine = {w for w in fds(pid).values() if w.startswith("socket:")}
    theirs = {w for w in fds(other).values() if w.startswith("socket:")}
    return [] if len(mine) == 1 and not mine & theirs else ["sockets %s, of the other worker %s" % (mine, theirs)]


def thread_problems(pid):
    problems = []
    for task in os.listdir("/proc/%d/task" % pid):
        s = status_of(pid, task)
        want = {"Seccomp": "2", "NoNewPrivs": "1", "CapEff": "0" * 16, "CapPrm": "0" * 16, "CapInh": "0" * 16,
                "CapAmb": "0" * 16}
        problems += ["thread %s: %s is %s" % (task, k, s.get(k)) for k, v in want.items() if s.get(k) != v]
        if s.get("Seccomp_filters", "1") == "0":
            problems.append("thread %s has no filter" % task)
        if os.geteuid() == 0 and (set(s["Uid"].split()) != {WORKER_UID} or set(s["Gid"].split()) != {WORKER_UID}
                                  or s["Groups"].strip()):
            problems.append("thread %s: uid %s, gid %s, groups %s" % (task, s["Uid"], s["Gid"], s["Groups"]))
    return problems


def limit_problems(pid):
    problems, found = [], limits_of(pid)
    for name, want in LIMITS.items():
        if want is not None and found[name] != want:
            problems.append("%s is %s" % (name, found[name]))
    if not found["Max open files"].isdigit() or int(found["Max open files"]) > OPEN_MOST:
        problems.append("open files: " + found["Max open files"])
    if not found["Max file size"].isdigit() or int(found["Max file size"]) > FILE_MOST:
        problems.append("file size: " + found["Max file size"])
    return problems


def memory_problems(pid):
    """No page can be written and executed, none that is executed comes from elsewhere than a file, and no path of the
    house but its program and libraries is mapped."""
    problems = []
    for line in read(pid, "maps").splitlines():
        parts = line.split(None, 5)
        path = parts[5] if len(parts) > 5 else ""
        if "w" in parts[1] and "x" in parts[1]:
            problems.append("written and executed: " + line)
        if "x" in parts[1] and not path:
            problems.append("executed, from nowhere: " + line)
    return problems


def group_problems(pid, info):
    if info["memoryControl"] == "rlimit":
        return []
    groups = {}
    for line in read(pid, "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for c in controllers.split(","):
            groups[c] = path
    path = groups.get("memory") if info["memoryControl"] == "cgroup1" else groups.get("")
    problems = []
    if not path or not re.search(r"/mayfly-%d-\d+[^/]*/\d+$" % info["driverPid"], path):
        problems.append("its group is %s" % groups)
    if info["memoryControl"] == "cgroup1" and not groups.get("pids", "").endswith(path.rsplit("/mayfly-", 1)[-1]):
        problems.append("its pids group is %s" % groups.get("pids"))
    return problems


def limit_of_group(pid, info):
    """memory.max (or the old name of it) of the group, in bytes; None without one."""
    if info["memoryControl"] == "rlimit":
        return None
    old = info["memoryControl"] == "cgroup1"
    for line in read(pid, "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == ("memory" if old else ""):
            base = "/sys/fs/cgroup/memory" if old else "/sys/fs/cgroup"
            for folder in (base + path, base):
                try:
                    with open(os.path.join(folder, "memory.limit_in_bytes" if old else "memory.max")) as f:
                        return int(f.read())
                except (OSError, ValueError):
                    continue
    return 0


def environment_problems(pid):
    problems = []
    if read(pid, "environ"):
        problems.append("its environment: %r" % read(pid, "environ"))
    if read(pid, "cmdline") != "mayfly-wasm-worker\0":
        problems.append("its arguments: %r" % read(pid, "cmdline"))
    return problems


def look(t, d, pid, other, words):
    info = d.info()
    t.check(words + ": environment and arguments are empty", environment_problems(pid))
    t.check(words + ": descriptors", fd_problems(pid))
    t.check(words + ": the map of its pages has no physical addresses", pagemap_problems(pid))
    t.check(words + ": one socket of its own", socket_problems(pid, other))
    t.check(words + ": each thread has the filter, no new privileges, no capabilities, no account", thread_problems(pid))
    t.check(words + ": resource limits", limit_problems(pid))
    t.check(words + ": memory is never written and executed", memory_problems(pid))
    t.check(words + ": control groups", group_problems(pid, info))
    most = limit_of_group(pid, info)
    if most is not None:
        t.ok(0 < most <= 2 << 30, words + ": its group has a limit of memory", most)
    # No process can look at it, none below it, and its session is its own: a signal from a terminal does not reach it.
    t.check(words + ": no process below it", ["%s" % leaks.descendants(pid)] if leaks.descendants(pid) else [])
    t.ok(os.getsid(pid) == pid, words + ": a session of its own")
    if os.geteuid() == 0:
        t.ok(os.stat("/proc/%d/fd" % pid).st_uid == 0, words + ": it cannot be traced by its own user")


FILES = "open('a', 'w').write('x')\nopen('b', 'w').write('y')\nimport time\ntime.sleep(0.05)\n"


def outcome(d, reply):
    """What is wrong with the end of a run in a process without descriptors."""
    try:
        r = d.finish(reply)
    except driver.StartError as e:
        return [] if e.code == "unavailable" and "ulimit -n" in e.message else [str(e)]
    if r["status"] == "succeeded":
        lost = [a["reason"] for a in r["rejectedArtifacts"]]
        return [] if len(r["artifacts"]) + len(lost) == 2 and set(lost) <= {"cannot be read (Too many open files)"} else [r]
    return [] if r["reason"] == "unavailable" and "ulimit -n" in r["diagnostic"] else [r]


def check_short(t):
    """A server that has no descriptors left: nothing that a worker did."""
    problems = []
    with driver.Driver([*OPTIONS, "--pool", "1"]) as d:
        for room in (0, 1, 2, 3, 5, 9):
            if d.run("print(1)")["stdout"] != "1\n":
                problems.append("it does not work before %d" % room)
            used = {int(n) for n in os.listdir("/proc/%d/fd" % d.pid)}
            free = [n for n in range(4096) if n not in used][room]
            old = resource.prlimit(d.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(d.pid, resource.RLIMIT_NOFILE, (free, old[1]))
            replies = [d.submit(FILES, files={"in": "x"}) for _ in range(2)]
            for reply in replies:
                problems += ["with %d: %s" % (room, p) for p in outcome(d, reply)]
            resource.prlimit(d.pid, resource.RLIMIT_NOFILE, old)
            end = time.monotonic() + 60
            while time.monotonic() < end:  # it may pause after workers that it could not make
                if d.run_when_free("print(1)")["status"] == "succeeded":
                    break
    t.check("a server without descriptors says so, and blames no worker", problems)


def main():
    places.need_provider("wasm", "driver")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    env = driver.option_env(MAYFLY_SECRET=SECRET)
    keep, _ = os.pipe()  # what a careless parent leaves open
    os.set_inheritable(keep, True)
    with driver.Driver([*OPTIONS, "--pool", "2"], env=env, pass_fds=(keep,)) as d:
        d.run("print(1)")
        end = time.monotonic() + 60
        while d.info()["workers"] < 2 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        pids = d.info()["workerPids"]
        look(t, d, pids[0], pids[1], "idle")
        began = []
        reply = d.submit(BUSY, stream=True, on_event=lambda line: began.append(1) if line.get("chunk") else None)
        while not began and time.monotonic() < end:
            time.sleep(0.01)
        busy = [p for p in pids if any("mayfly-job" in w for w in fds(p).values())]
        for pid in pids:
            look(t, d, pid, pids[1] if pid == pids[0] else pids[0], "beside a program" if pid not in busy else "at work")
        d.cancel(reply)
        result = d.finish(reply)
        receipt = result["receipt"]
        t.ok(receipt["isolation"] == "full" and {"seccomp", "no_new_privs", "rlimit", "fuel", "wasm"} <=
             set(receipt["layers"]), "the receipt says what was seen", receipt)
        t.ok(receipt["memoryControl"] == d.info()["memoryControl"], "and what holds its memory", receipt)
        t.ok(re.fullmatch("[0-9a-f]{64}", receipt.get("seccompSha256") or ""), "and which filter", receipt)
    with driver.Driver([*OPTIONS, "--no-cgroup"]) as d:
        pid = d.info()["workerPids"][0]
        found = limits_of(pid)["Max data size"]
        t.ok(found.isdigit() and int(found) <= 2 << 30, "without control groups the data is limited", found)
        t.check("without control groups: threads", thread_problems(pid))
        r = d.run("kept = [bytes(1 << 20) for _ in range(4000)]", limits={"memoryBytes": 2 << 30, "fuel": 10 ** 11})
        t.ok((r["status"], r["reason"]) == ("failed", "memory"), "and a program that takes more than its limit is told so",
             r["status"], r["reason"], r["diagnostic"])
    check_short(t)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))  # ours, for the rest of this program
    with driver.Driver(OPTIONS) as d:
        found = limits_of(d.info()["workerPids"][0])["Max open files"]
        t.ok(int(found) <= 200, "on a host with fewer descriptors a worker has no more", found)
        t.ok(d.run("print(1)")["stdout"] == "1\n", "and works")
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
