#!/usr/bin/env python3
"""Tasks that are cancelled at random moments: while they wait, while they run, at their end, twice, by DELETE. Each ends as
cancelled or as it would have, once; nothing of it is left, and the next task works.

    cancels.py [--count N] [--seed N]"""
import argparse
import os
import random
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import taskstore  # noqa: E402
from tasks import ENDED, FORM, Server, form, form_request, part, request  # noqa: E402

CLIENTS = 8
INPUT = b"city,amount\n" * 1000
# What each does when nobody cancels it; %.3f: for how long.
PROGRAMS = {
    "sleeps": "import time\ntime.sleep(%.3f)\nprint('end')\n",
    "works": "import time\nend = time.monotonic() + %.3f\nwhile time.monotonic() < end:\n    pass\nprint('end')\n",
    "talks": "import time\nend = time.monotonic() + %.3f\nwhile time.monotonic() < end:\n    print('x' * 1000, flush=True)\n    time.sleep(0.001)\nprint('end')\n",
    "writes": "import time\nfor i in range(20):\n    open('out-%%d.bin' %% i, 'wb').write(open('in.csv', 'rb').read() * 20)\n    time.sleep(%.3f / 20)\nprint('end')\n",
    "forks": "import os, time\nfor i in range(5):\n    if os.fork() == 0:\n        time.sleep(100)\ntime.sleep(%.3f)\nprint('end')\nos._exit(0)\n",
    "ignores": "import signal, time\nfor n in (1, 2, 15):\n    signal.signal(n, signal.SIG_IGN)\ntime.sleep(%.3f)\nprint('end')\n",
}
MOMENTS = ("before", "early", "running", "end", "later", "never")
t = tap.Tap()


class One:
    """A task, when it is cancelled, and what came of it."""

    def __init__(self, rng):
        self.program = rng.choice(sorted(PROGRAMS))
        self.seconds = rng.choice((0.0, 0.05, 0.2, 0.6))
        self.moment, self.how = rng.choice(MOMENTS), rng.choice(("cancel", "cancel", "twice", "at once", "delete"))
        self.delay = rng.random()
        self.is_followed, self.is_form = rng.random() < 0.2, rng.random() < 0.5

    def submit(self, g):
        code = PROGRAMS[self.program] % self.seconds
        if self.is_form:
            status, _, task = g.json("POST", "/v1/tasks", form(form_request(code), part("files", INPUT, "in.csv")), FORM)
        else:
            status, _, task = g.json("POST", "/v1/tasks", request(code, {"in.csv": INPUT}))
        if status != 202:
            raise AssertionError("POST /v1/tasks: %d %s" % (status, task))
        self.id = task["taskId"]

    def wait_for_moment(self, g):
        if self.moment == "early":
            time.sleep(self.delay * 0.05)
        elif self.moment == "running":
            if g.until_running(self.id):
                raise AssertionError("it does not start")
            time.sleep(self.delay * 0.1)
        elif self.moment == "end":
            g.until_running(self.id)
            time.sleep(self.seconds + self.delay * 0.1)
        elif self.moment == "later":
            time.sleep(self.delay)
        elif self.moment == "never":
            g.end_of(self.id)

    def cancel(self, g):
        """Status and the task."""
        status, _, task = g.json("POST", "/v1/tasks/%s/cancel" % self.id)
        return status, task

    def problems(self, g):
        """Cancels it; what is wrong with that."""
        self.submit(g)
        follower = g.follow(self.id) if self.is_followed else None
        self.wait_for_moment(g)
        found = []
        if self.how == "delete":
            status, _, gone = g.json("DELETE", "/v1/tasks/" + self.id)
            if (status, gone) != (200, {"taskId": self.id, "deleted": True}) or g.call("GET", "/v1/tasks/" + self.id)[0] != 404:
                found.append("deleted: %d %s" % (status, gone))
        else:
            answers = gateway.crowd(2, lambda _: self.cancel(g)) if self.how == "at once" else [self.cancel(g)]
            if self.how == "twice":
                answers.append(self.cancel(g))
            end = g.end_of(self.id)
            found += [str(a)[:500] for a in answers if isinstance(a, Exception) or a[0] != 200 or a[1] != end]
            found += self.wrong_end(end)
        if follower:
            try:
                follower.read_until(b"0\r\n\r\n")
            except AssertionError as e:
                if self.how != "delete":  # what a follower has not read of a task that is deleted may be cut off
                    found.append(str(e))
            follower.close()
        return ["%s %.2f s, %s %s: %s" % (self.program, self.seconds, self.how, self.moment, f) for f in found]

    def wrong_end(self, task):
        right = {"cancelled": (None, "cancelled"), "succeeded": (0, "exit")}.get(task["status"])
        if (task["exitCode"], task["reason"]) != right or not task["finishedAt"]:
            return ["%s" % str(task)[:500]]
        if task["status"] == "succeeded" and not task["stdout"].endswith("end\n"):
            return ["it succeeded without its end: %r" % task["stdout"][-100:]]
        if task["startedAt"] is None and (task["stdout"] or task["artifacts"] or task["status"] != "cancelled"):
            return ["it never started: %s" % str(task)[:500]]
        if self.moment == "never" and task["status"] != "succeeded":
            return ["it had ended: %s" % str(task)[:500]]
        return []


def idle(g):
    """What is open, when nothing runs and nothing is being cleaned up."""
    names = ("mayfly_tasks_queued", "mayfly_tasks_running", "mayfly_executor_permits_busy", "mayfly_executor_waiting",
             "mayfly_provider_busy")
    problems = g.until("idle", lambda: (not any(g.metrics()[n] for n in names), {n: g.metrics()[n] for n in names}))
    below = leaks.descendants(g.pid)
    supervisor = next(pid for pid in below if below[pid][0] == g.pid)
    return {"processes": len(below), "server fds": leaks.open_fds(g.pid), "supervisor fds": leaks.open_fds(supervisor)}, problems


def check_flat(g, early):
    """Idle children of a pool, a reader of the database, places that were needed for the first time come and stay."""
    room = {"processes": 4, "server fds": 8, "supervisor fds": 80}
    late, problems = idle(g)
    limit = time.monotonic() + gateway.PATIENCE
    while any(late[n] > early[n] + room[n] for n in room) and time.monotonic() < limit:
        time.sleep(0.2)  # children that are being reaped, connections that are being closed
        late, problems = idle(g)
    t.check("permits, processes and descriptors are back",
            problems + ["%s: %d, and before %d" % (n, late[n], early[n]) for n in room if late[n] > early[n] + room[n]])


def ends_of(g):
    m = g.metrics()
    return {s: int(m['mayfly_tasks_total{status="%s"}' % s]) for s in ENDED}, int(m["mayfly_tasks_submitted_total"])


def check_cancels(g, count, rng):
    first, submitted = ends_of(g)
    todo, problems = [One(rng) for _ in range(count)], []
    done = list(todo)
    lock = threading.Lock()

    def work(_):
        while True:
            with lock:
                if not todo or len(problems) > 5:
                    return
                one = todo.pop()
            try:
                found = one.problems(g)
            except (AssertionError, OSError) as e:
                found = [repr(e)]
            with lock:
                problems.extend(found)

    # More clients than places, so that some of their tasks wait.
    clients = [threading.Thread(target=work, args=(i,)) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    t.check("%d cancels, each answered with the one end" % count, problems[:5] + (["some are not done"] if todo else []))
    tasks = [g.task(x["taskId"]) for x in g.all_tasks()]
    kept = {one.id for one in done if one.how != "delete"}
    t.ok({x["taskId"] for x in tasks} == kept and all(x["status"] in ENDED for x in tasks), "all have ended, and what was deleted is gone",
         len(kept), [x["status"] for x in tasks if x["status"] not in ENDED])
    t.check("rows, answers and files agree", taskstore.disagreements(g.home, tasks, whole=False)[:5])
    last, submitted_last = ends_of(g)
    ends = {s: last[s] - first[s] for s in ENDED}
    t.ok(sum(ends.values()) == count == submitted_last - submitted and not ends["failed"] and not ends["timed_out"],
         "each has one end", ends)
    t.ok(count < 50 or ends["cancelled"] and ends["succeeded"], "some were cancelled, some had ended", ends)
    return tasks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    args = parser.parse_args()
    gateway.need()
    t.note("seed %d" % args.seed)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with Server() as g:
        for code in PROGRAMS.values():  # once, so that what is made at first use is there
            g.json("DELETE", "/v1/tasks/" + g.run(code % 0, {"in.csv": INPUT})["taskId"])
        early, problems = idle(g)
        t.check("it is idle before", problems)
        tasks = check_cancels(g, args.count, random.Random(args.seed))
        t.ok(g.run("print(open('in.csv').read())", {"in.csv": b"next"})["stdout"] == "next\n", "the next task works")
        check_flat(g, early)
        for task in [*tasks, *g.all_tasks()]:
            g.json("DELETE", "/v1/tasks/" + task["taskId"])
        t.check("deleted tasks leave no file and no row",
                g.until("files", lambda: (not g.files(), g.files()[:5])) + [str(r) for r in list(taskstore.rows(g.home))[:5]])
        t.ok(g.metrics()["mayfly_task_files_bytes"] == 0, "and no bytes in the figures")
        t.ok(g.stop() == 0, "the server ends well", g.log()[-2000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
