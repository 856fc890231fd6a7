#!/usr/bin/env python3
"""Soak of the wasm provider: many calls in a row, a few at once, among them ones that fail, are stopped and cancelled. The
memory of the provider and of its workers, descriptors, processes and control groups stay flat.

    wasm.py [--calls N] [--per-worker N] [--name WORDS] [-- options of mf-driver]

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

KIB, MIB = 1 << 10, 1 << 20
AT_ONCE = 4
WORKERS = 4
FUEL = {"fuel": 30000000}
PROGRAMS = [  # (source, files, limits, (status, reason, stdout), artifacts)
    ("print(1)\n", None, None, ("succeeded", "exit", "1\n"), 0),
    ("import json, re, datetime\nprint(json.dumps([1]), re.findall('a+', 'caat'))\n", None, None,
     ("succeeded", "exit", "[1] ['aa']\n"), 0),
    ("print(open('in.txt').read())\nopen('out.txt', 'w').write('x' * 50000)\n", {"in.txt": "input"}, None,
     ("succeeded", "exit", "input\n"), 1),
    ("x = [0] * 1000000\nprint(len(x))\n", None, None, ("succeeded", "exit", "1000000\n"), 0),
    ("raise SystemExit(3)\n", None, None, ("failed", "exit", ""), 0),
    ("1 / 0\n", None, None, ("failed", "exception", ""), 0),
    ("for n in range(30):\n    open('f%d' % n, 'w').write('y' * n)\nprint('files')\n", None, None,
     ("succeeded", "exit", "files\n"), 30),
]
RARE = [  # every fiftieth
    ("while True:\n    pass\n", None, FUEL, ("failed", "fuel", ""), 0),
    ("x = []\nwhile True:\n    x.append(bytes(1 << 20))\n", None, {"memoryBytes": 96 * MIB}, ("failed", "memory", ""), 0),
    ("while True:\n    print('z' * 3000)\n", None, {"stdoutBytes": 1000, "stopOnOutput": True},
     ("failed", "output", "z" * 1000), 0),
    ("import time\ntime.sleep(60)\n", None, {"wallMs": 50}, ("timed_out", "wall_time", ""), 0),
    ("import os\nos.abort()\n", None, None, ("failed", "signal", ""), 0),
]
CANCEL_EVERY = 400  # its worker ends with it


def private_bytes(pid):
    """Memory of this process alone, pages of files that it has changed among them."""
    try:
        with open("/proc/%d/smaps_rollup" % pid) as f:
            return sum(int(line.split()[1]) << 10 for line in f if line.startswith(("Private_Clean", "Private_Dirty")))
    except OSError:
        return -1


def groups_of(pid):
    found = 0
    for base in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
        for where, folders, _ in os.walk(base):
            if "mayfly-%d-" % pid in where:
                found += len(folders)
    return found


def state(d):
    """When idle: everything that could grow."""
    end = time.monotonic() + 60
    while True:
        info = d.info()
        if info["busy"] == 0 and info["providerBusy"] == 0 and info["workers"] == WORKERS or time.monotonic() > end:
            break
        if info["workers"] < WORKERS:
            time.sleep(0.2)
        time.sleep(0.05)
    time.sleep(0.5)
    info = d.info()
    workers = info["workerPids"]
    return {
        "busy": info["busy"] + info["providerBusy"],
        "processes": len(leaks.descendants(d.pid)),
        "provider fds": leaks.open_fds(d.pid),
        "provider private": private_bytes(d.pid),
        "worker fds": max(leaks.open_fds(p) for p in workers),
        "worker private": max(private_bytes(p) for p in workers),
        "worker threads": max(len(os.listdir("/proc/%d/task" % p)) for p in workers),
        "groups": groups_of(d.pid),
        "memory of the machine's files": memfd_bytes(),
        "workers started": info["workersStarted"],
        "calls": info["calls"],
    }


def memfd_bytes():
    """Shared memory of the machine: memfds that nobody holds any more would stay in it. Others use it too."""
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("Shmem:"))


def choose(n):
    if n % 50 == 49:
        return RARE[n // 50 % len(RARE)]
    return PROGRAMS[n % len(PROGRAMS)]


def one(d, n):
    """A sentence when the call did not end as it should."""
    if n % CANCEL_EVERY == CANCEL_EVERY - 1:
        result = d.run_when_free("while True:\n    pass\n", cancelAfterStartMs=n % 7, limits={"fuel": 10 ** 12})
        return None if result["reason"] == "cancelled" else "call %d: a cancel ended as %s" % (n, result["reason"])
    source, files, limits, want, artifacts = choose(n)
    result = d.run_when_free(source, files=files, limits=limits or {})
    got = (result["status"], result["reason"], result["stdout"])
    if got != want or len(result["artifacts"]) != artifacts:
        return "call %d: %s/%s %r %r %r, %d artifacts" % (n, *got[:2], got[2][:200], result["stderr"][-300:],
                                                         result["diagnostic"], len(result["artifacts"]))
    return None


def run_many(d, first, last, problems):
    todo = queue.Queue()
    for n in range(first, last):
        todo.put(n)

    def work():
        while not problems:
            try:
                problem = one(d, todo.get_nowait())
            except queue.Empty:
                return
            except (driver.DriverGone, driver.StartError) as e:
                problem = str(e)
            if problem:
                problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def growth(early, late, calls, per_worker):
    """What is not flat: the room does not depend on how many calls there were."""
    room = {"provider private": 4 * MIB, "worker private": 6 * MIB, "provider fds": 0, "worker fds": 1, "processes": 0,
            "worker threads": 0, "groups": 0, "busy": 0}
    problems = ["%s grew from %d to %d in %d calls" % (name, early[name], late[name], calls)
                for name, most in room.items() if late[name] > early[name] + most]
    replaced = late["workers started"] - early["workers started"]
    # By their count of calls, and one for each cancel; not for a limit, a trap or an exception.
    most = calls // per_worker + calls // CANCEL_EVERY + 2 * WORKERS
    if replaced > most:
        problems.append("%d workers were started in %d calls, expected %d at most" % (replaced, calls, most))
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--per-worker", type=int, default=1000)
    parser.add_argument("--name", default="wasm:")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    places.need_provider("wasm", "driver")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    problems = []
    options = ["--provider", "wasm", "--max-running", str(WORKERS), "--pool", str(WORKERS), "--calls-per-worker",
               str(args.per_worker), *args.options]
    with driver.Driver(options) as d:
        warm = args.calls // 5
        run_many(d, 0, warm, problems)
        early = state(d)
        begin = time.monotonic()
        run_many(d, warm, args.calls, problems)
        seconds = time.monotonic() - begin
        late = state(d)
        t.check("%s %d calls, each with its right answer" % (args.name, args.calls), problems[:5])
        t.check(args.name + " memory, descriptors, processes, threads and groups are flat",
                growth(early, late, args.calls - warm, args.per_worker))
        t.note("%d calls in %.1f s" % (args.calls - warm, seconds))
        t.note("early %s" % early)
        t.note("late  %s" % late)
    t.check(args.name + " nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
