#!/usr/bin/env python3
"""kill -9 of the supervisor, a zygote or a guest while tasks run and wait: what was hit has failed as worker_crash, the others end as
they would have, and the next task works.

    machinery.py [--count N] [--seed N]"""
import argparse
import os
import random
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import taskstore  # noqa: E402
from tasks import Server, request  # noqa: E402

TASKS = 24
CODE = "import time\nopen('out', 'w').write(open('in').read())\nprint('up', flush=True)\ntime.sleep(0.3)\nprint('end')\n"
IDLE = ("mayfly_tasks_queued", "mayfly_tasks_running", "mayfly_executor_permits_busy", "mayfly_provider_busy")
t = tap.Tap()


def victims(g, kind):
    """Processes of this kind, with the moment of their start."""
    below = leaks.descendants(g.pid)
    supervisor = [p for p in below if below[p][0] == g.pid]
    inits = [p for p in below if below[p][0] in supervisor]
    chosen = {"supervisor": supervisor, "zygote": [p for p in below if below[p][0] in inits],
              "sandbox": [p for p in below if p not in supervisor]}[kind]
    return [(p, below[p][2]) for p in chosen]


def strike(g, kind, rng):
    found = victims(g, kind)
    if found:
        pid, start = rng.choice(found)
        if leaks.is_alive(pid, start):
            os.kill(pid, signal.SIGKILL)


def wrong(task):
    """What is wrong with an end."""
    whole = (task["status"], task["reason"], task["stdout"], [a["path"] for a in task["artifacts"]]) == \
        ("succeeded", "exit", "up\nend\n", ["out"])
    # A guest's own process that is killed is a signal to it.
    hit = task["status"] == "failed" and task["reason"] in ("worker_crash", "signal", "unavailable") and "end" not in task["stdout"]
    return [] if whole or hit else [str(task)[:600]]


def check(g, number, kind, rng):
    what = "kill %d, of the %s" % (number, kind)
    ids = [g.submit(request(CODE, {"in": b"%d" % i}))["taskId"] for i in range(TASKS)]
    problems = g.until_running(ids[rng.randrange(TASKS // 2)])
    time.sleep(rng.random() * 0.3)
    strike(g, kind, rng)
    ends = [g.end_of(i) for i in ids]
    for task in ends:
        problems += wrong(task)
    whole = sum(x["status"] == "succeeded" for x in ends)
    # Places: two run at once; one that had ended and one that starts may be hit as well.
    t.check("%s: %d of %d end as they would have" % (what, whole, TASKS), problems[:5] + ([] if whole >= TASKS - 6 else ["so few"]))
    t.ok(g.run("print(1)")["stdout"] == "1\n", what + ": the next task works")
    t.check(what + ": places are back", g.until("idle", lambda: (not any(g.metrics()[n] for n in IDLE), {n: g.metrics()[n] for n in IDLE})))
    t.check(what + ": rows, answers and files agree", taskstore.disagreements(g.home, [g.task(x["taskId"]) for x in g.all_tasks()])[:5])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    args = parser.parse_args()
    gateway.need()
    t.note("seed %d" % args.seed)
    rng = random.Random(args.seed)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with Server() as g:
        for number in range(args.count):
            check(g, number + 1, ("supervisor", "zygote", "sandbox")[number % 3], rng)
        t.ok(g.stop() == 0, "the server ends well", g.log()[-2000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
