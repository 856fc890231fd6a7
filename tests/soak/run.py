#!/usr/bin/env python3
"""Soak: many runs in a row through one provider; memory, descriptors, processes and mounts stay flat.

    run.py [--runs N] [--name WORDS] [-- options of mf-driver]

The first fifth warms up; what is compared is the state after it and at the end, both when nothing runs."""
import argparse
import os
import queue
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

MIB = 1 << 20
AT_ONCE = 4
MAX_RUNNING = 8
# The supervisor makes a place's groups when the place is first needed, and keeps them. A busy machine buries its guests
# later and needs more places, some for the first time after the warm-up: that is no growth, and it ends here.
MOST_GROUPS = 2 * (2 * MAX_RUNNING + 24)  # of memory and of pids; see slot_n in supervisor.c
FDS_OF_A_GROUP = 4
PROGRAMS = [  # (source, files, what stdout must be, artifacts)
    ("print(1)\n", None, "1\n", 0),
    ("print(1)\n", None, "1\n", 0),
    ("print(1)\n", None, "1\n", 0),
    ("print(open('in.txt').read())\nopen('out.txt', 'w').write('x' * 50000)\n", {"in.txt": "input"}, "input\n", 1),
    ("import numpy as np\nprint(int(np.arange(1000).sum()))\n", None, "499500\n", 0),
    ("import pandas as pd\nprint(int(pd.DataFrame({'a': [1, 2]}).a.sum()))\n", None, "3\n", 0),
    ("import os\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\nprint('forked')\n", None, "forked\n", 0),
    ("import threading\nthreading.Thread(target=print, args=('thread',)).start()\n", None, "thread\n", 0),
    ("import socket\ntry:\n    socket.socket(2)\nexcept OSError:\n    print('denied')\n", None, "denied\n", 0),
]
FAILING = ("raise SystemExit(3)\n", None, "", 0)


def mount_count(pid):
    try:
        with open("/proc/%d/mountinfo" % pid) as f:
            return sum(1 for _ in f)
    except OSError:
        return -1


def state(d):
    """When idle: everything that could grow."""
    end = time.monotonic() + 60
    while True:
        info = d.info()
        if info["busy"] == 0 and info["providerBusy"] == 0 or time.monotonic() > end:
            break
        time.sleep(0.05)
    time.sleep(1)
    info = d.info()
    supervisor = info["supervisorPid"]
    found = {"busy": info["busy"] + info["providerBusy"], "processes": len(leaks.descendants(d.pid)),
             "mounts of the host": mount_count(os.getpid()),
             "zygotes": (info["zygoteStdlibPid"], info["zygoteDataPid"])}
    for name, pid in (("driver", d.pid), ("supervisor", supervisor), ("zygote-stdlib", info["zygoteStdlibPid"]),
                      ("zygote-data", info["zygoteDataPid"])):
        found[name + " fds"] = leaks.open_fds(pid)
        found[name + " resident"] = leaks.resident_bytes(pid)
        found[name + " mounts"] = mount_count(pid)
    found["cgroups"] = sum(len(folders) for base in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup")
                           for where, folders, _ in os.walk(base) if "mayfly-%d-" % supervisor in where)
    return found


def run_many(d, first, last, problems):
    """Runs number first..last, a few at once."""
    todo = queue.Queue()
    for n in range(first, last):
        todo.put(n)

    def work():
        while not problems:
            try:
                n = todo.get_nowait()
            except queue.Empty:
                return
            source, files, stdout, artifacts = FAILING if n % 50 == 49 else PROGRAMS[n % len(PROGRAMS)]
            while True:
                try:
                    result = d.run(source, files=files)
                    break
                except driver.StartError as e:
                    if e.code != "capacity":
                        problems.append("run %d: %s" % (n, e))
                        return
                    time.sleep(0.005)
                except driver.DriverGone as e:
                    problems.append("run %d: %s" % (n, e))
                    return
            if result["stdout"] != stdout or len(result["artifacts"]) != artifacts or result["reason"] != "exit":
                problems.append("run %d: %s/%s %r %r" % (n, result["status"], result["reason"], result["stdout"],
                                                         result["stderr"][-500:]))

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def growth(early, late, runs):
    """What is not flat. A page cache or an arena may settle: the room is small and does not depend on the runs."""
    problems = []
    replaced = early["zygotes"] != late["zygotes"]
    for name, before in early.items():
        after = late[name]
        if name == "zygotes":
            continue
        if replaced and name.startswith("zygote") and name.endswith("resident"):
            room = 24 * MIB  # another process: its own layout
        elif name.endswith("resident"):
            room = 6 * MIB
        elif name.endswith("fds") or name == "processes":
            room = 6  # idle children of the pools come and go
            if name == "supervisor fds":
                room += FDS_OF_A_GROUP * max(0, late["cgroups"] - early["cgroups"])
        elif name == "cgroups":
            room = MOST_GROUPS - before
        else:
            room = 0
        if after > before + room:
            problems.append("%s grew from %d to %d in %d runs" % (name, before, after, runs))
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--name", default="")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    places.need("driver", "zygote", "runtime")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    problems = []
    with driver.Driver([*args.options, "--max-running", str(MAX_RUNNING)]) as d:
        warm = args.runs // 5
        run_many(d, 0, warm, problems)
        early = state(d)
        begin = time.monotonic()
        run_many(d, warm, args.runs, problems)
        seconds = time.monotonic() - begin
        late = state(d)
        t.check("%s %d runs, each with its right answer" % (args.name, args.runs), problems[:5])
        t.check(args.name + " memory, descriptors, processes, mounts and groups are flat",
                growth(early, late, args.runs - warm))
        t.note("%d runs in %.1f s" % (args.runs - warm, seconds))
        t.note("early %s" % early)
        t.note("late  %s" % late)
    t.check(args.name + " nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
