#!/usr/bin/env python3
"""The abuse suite: programs that take, flood, hang and break. Each gets its own result, the next task works at once, and
nothing stays.

    run.py [--name WORDS] [--only PART]… [-- options of mf-driver]

A program's head says how it must end ("# expect:", as in the conformance suite), which driver it wants ("# options:"),
whether the memory that belongs to no process is watched from outside ("# shmem:"), and how long its texts may be at
most ("# most:"), and whether other tasks are run while it is at its worst, which it tells by printing something
("# during:")."""
import argparse
import json
import os
import re
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import driver  # noqa: E402
import expect  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

SHMEM_MOST = 700 << 20  # the limit of such a program is 128 MiB, the disk of a sandbox 256; it tries for 4 GiB
CALM_S = 30


class Program:
    def __init__(self, name):
        self.name = name
        with open(os.path.join(HERE, "programs", name + ".py"), encoding="utf-8") as f:
            self.source = f.read()
        self.about = self.source.splitlines()[0].lstrip("# ")
        head = {k: json.loads(v) for k, v in re.findall(r"^# (\w+): ([\[{t].*)$", self.source, re.M)}
        self.want = head["expect"]
        self.options = head.get("options", [])
        self.shmem = head.get("shmem", False)
        self.most = head.get("most", {})
        self.during = head.get("during", False)


def shmem():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("Shmem:"))


class ShmemWatch:
    """The most shared memory of the machine while a program runs."""

    def __init__(self):
        self.before = self.most = shmem()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while not self.ended.wait(0.02):
            self.most = max(self.most, shmem())

    def grown(self):
        self.ended.set()
        self.thread.join()
        return self.most - self.before


def calm_problems(d, most):
    """Waits until no process of a finished run is left below the supervisor."""
    info = d.info()
    end = time.monotonic() + CALM_S
    while True:
        below = leaks.descendants(info["supervisorPid"])
        info = d.info()
        if len(below) <= most and info["busy"] == 0 and info["providerBusy"] == 0:
            return []
        if time.monotonic() > end:
            return ["%d processes below the supervisor (at most %d when idle), busy %d: %s" % (
                len(below), most, info["busy"], [leaks.command_of(p) for p in list(below)[:8]])]
        time.sleep(0.05)


def run_during(d, program):
    """Runs the program, and small tasks beside it once it has printed something."""
    printed = threading.Event()
    reply = d.submit(program.source, content=True, stream=True, limits=program.want.get("limits", {}),
                     on_event=lambda line: printed.set() if line.get("chunk") else None)
    printed.wait(60)
    problems = []
    for source, stdout in (("print(1)", "1\n"), ("import numpy\nprint(2)", "2\n"), ("print(3)", "3\n")):
        beside = d.run(source)
        if beside["stdout"] != stdout:
            problems.append("a task beside it does not work: %s/%s %r" % (beside["status"], beside["reason"],
                                                                         beside["diagnostic"]))
    if reply.event.is_set():
        problems.append("it had ended before the tasks beside it did")
    return d.finish(reply), problems


def judge(program, result):
    want = dict(program.want)
    if want.get("truncated") == "any ending":
        want["truncated"] = result["truncated"]
    problems = expect.result(result, want)
    for stream, most in program.most.items():
        if len(result[stream].encode()) > most:
            problems.append("%s has %d bytes" % (stream, len(result[stream].encode())))
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="")
    parser.add_argument("--only", action="append")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    places.need("driver", "zygote", "runtime")
    if "--as-nobody" in args.options and os.getuid() != 0:
        tap.skip_all("becoming another user needs root")
    prefix = args.name + " " if args.name else ""
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    programs = [Program(n[:-3]) for n in sorted(os.listdir(os.path.join(HERE, "programs"))) if n.endswith(".py")]
    programs = [p for p in programs if not args.only or any(o in p.name for o in args.only)]
    for options in sorted({tuple(p.options) for p in programs}):
        try:
            d = driver.Driver([*args.options, *options])
        except driver.NotReady as e:
            t.check(prefix + "the provider starts", [str(e)])
            return t.done()
        with d:
            for runtime in ("stdlib", "data"):
                d.run("print(1)", runtime=runtime)
            time.sleep(1)
            info = d.info()
            # Idle: the zygotes, their namespaces' first processes and the pools; a slot may be on its way.
            idle = len(leaks.descendants(info["supervisorPid"])) + 6
            for program in (p for p in programs if tuple(p.options) == options):
                problems = []
                watch = ShmemWatch() if program.shmem else None
                try:
                    if program.during:
                        result, problems = run_during(d, program)
                    else:
                        result = d.run(program.source, content=True, limits=program.want.get("limits", {}))
                    problems += judge(program, result)
                    after = d.run("print(1)")
                    if (after["status"], after["stdout"]) != ("succeeded", "1\n"):
                        problems.append("the next task does not work: %s/%s %r %r" % (
                            after["status"], after["reason"], after["diagnostic"], after["stderr"]))
                    problems += calm_problems(d, idle)
                except (driver.StartError, driver.DriverGone) as e:
                    problems.append("%s: %s" % (type(e).__name__, e))
                if watch and watch.grown() > SHMEM_MOST:
                    problems.append("it took %d MiB of shared memory" % (watch.grown() >> 20))
                t.check("%s%s: %s" % (prefix, program.name, program.about), problems)
                if d.process.poll() is not None:
                    t.ok(False, prefix + "the driver lives")
                    return t.done()
    t.check(prefix + "nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
