#!/usr/bin/env python3
"""kill -9 of a server with 200 tasks queued and running, and a start on the same home: every acknowledged task reaches its end.
What ran has failed as interrupted, what waited runs, what had ended is as it was; files and rows agree, and no process is left.

    restart.py [--count KILLS] [--tasks N] [--seed N]"""
import argparse
import hashlib
import http.client
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import taskstore  # noqa: E402
from tasks import ENDED, FORM, Server, form, form_request, part, request, room_for  # noqa: E402

CLIENTS, PLACES = 8, 4
GONE = (OSError, ValueError, http.client.HTTPException)  # what a client sees of a server that ends
INPUT = bytes(range(256)) * 200
ARTIFACT = "import time\nopen('out.bin', 'wb').write(b'%d' * %d)\ntime.sleep(%.3f)\nprint(%d)\n"
COPY = "data = open('data/in.bin', 'rb').read()\nopen('copy.bin', 'wb').write(data)\nprint(len(data), %d)\n"
SLOW = "import time\nprint(%d, flush=True)\ntime.sleep(%.3f)\n"
FAILING = "print(%d)\nraise SystemExit(3)\n"
t = tap.Tap()


class Wanted:
    """A task that a client asks for, and how it ends when nothing comes between."""

    def __init__(self, number, rng):
        self.number, self.kind = number, rng.choice(("artifact", "copy", "slow", "failing"))
        self.is_form = rng.random() < 0.5
        self.key = "key-%d-%x" % (number, rng.getrandbits(64)) if rng.random() < 0.3 else None
        pause = rng.choice((0, 0.05, 0.3, 1.5))
        self.stdout, self.status, self.files, self.made = "%d\n" % number, "succeeded", {}, {}
        if self.kind == "artifact":
            times = rng.choice((9000, 70000))  # kept in the database, or in a file
            self.code = ARTIFACT % (number, times, pause, number)
            self.made = {"out.bin": b"%d" % number * times}
        elif self.kind == "copy":
            self.code, self.stdout = COPY % number, "%d %d\n" % (len(INPUT), number)
            self.files, self.made = {"data/in.bin": INPUT}, {"copy.bin": INPUT}
        elif self.kind == "slow":
            self.code = SLOW % (number, pause)
        else:
            self.code, self.status = FAILING % number, "failed"

    def send(self, g):
        """Status and the task."""
        headers = {"Idempotency-Key": self.key} if self.key else {}
        if self.is_form:
            parts = [form_request(self.code)] + [part("files", d, n) for n, d in self.files.items()]
            status, _, task = g.json("POST", "/v1/tasks", form(*parts), {**FORM, **headers})
        else:
            status, _, task = g.json("POST", "/v1/tasks", request(self.code, self.files or None), headers)
        return status, task

    def problems(self, task, is_interrupted):
        """What is wrong with its end."""
        digest = lambda files: sorted((n, hashlib.sha256(d).hexdigest()) for n, d in files.items())  # noqa: E731
        inputs = sorted((f["name"], f["sha256"]) for f in task["inputs"])
        artifacts = sorted((f["path"], f["sha256"]) for f in task["artifacts"])
        if is_interrupted:
            right = (task["status"], task["reason"], task["exitCode"], artifacts) == ("failed", "interrupted", None, [])
        else:
            right = (task["status"], task["reason"], task["stdout"], artifacts) == (self.status, "exit", self.stdout, digest(self.made))
        if right and inputs == digest(self.files) and task["finishedAt"] and task["expiresAt"]:
            return []
        return ["%s%s: %s" % (self.kind, ", was running" if is_interrupted else "", str(task)[:700])]


class Crowd:
    """Clients that submit, one that looks at ends, until the server is gone."""

    def __init__(self, g, number, rng):
        self.g, self.todo = g, [Wanted(i, rng) for i in range(number)]
        self.lock, self.acknowledged, self.ended, self.problems = threading.Lock(), {}, {}, []
        self.threads = [threading.Thread(target=self._submit, daemon=True) for _ in range(CLIENTS)]
        self.threads.append(threading.Thread(target=self._look, daemon=True))
        for thread in self.threads:
            thread.start()

    def _submit(self):
        while True:
            with self.lock:
                if not self.todo:
                    return
                wanted = self.todo.pop()
            try:
                status, task = wanted.send(self.g)
            except GONE:
                return  # the server is gone
            with self.lock:
                if status == 202:
                    self.acknowledged[task["taskId"]] = wanted
                else:
                    self.problems.append("a submit: %d %s" % (status, task))

    def _look(self):
        """Ends that somebody has seen."""
        try:
            while self.todo or len(self.ended) < len(self.acknowledged):
                for task_id in [i for i in list(self.acknowledged) if i not in self.ended]:
                    task = self.g.task(task_id, wait=0.05)
                    if task["status"] in ENDED:
                        self.ended[task_id] = task
        except GONE:
            return

    def join(self):
        for thread in self.threads:
            thread.join(gateway.PATIENCE)


def upload_half(g):
    """A client in the middle of an upload: one file is whole, one is not. Its socket, and what is wrong."""
    data = os.urandom(100000)
    body = form(form_request("print(1)"), part("files", data, "whole"), part("files", bytes(1 << 20), "half"), end=False)
    s = g.connect()
    s.sendall(("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" %
               (FORM["Content-Type"], len(body) + 1000)).encode() + body)
    name = hashlib.sha256(data).hexdigest()
    return s, g.until("an upload", lambda: (any(name in f for f in taskstore.folders(g.home).values()), "its file is not there"))


def strike(g, crowd, total, rng):
    """kill -9 at a random moment: while tasks are submitted, or when some have ended; perhaps while a stop is under way. What is
    wrong before."""
    least, ends = (rng.randrange(20, total), 0) if rng.random() < 0.4 else (total, rng.randrange(1, total // 2))
    limit = time.monotonic() + gateway.PATIENCE * 3
    while (len(crowd.acknowledged) < least or len(crowd.ended) < ends) and not crowd.problems and time.monotonic() < limit:
        time.sleep(0.005)
    upload, problems = upload_half(g)
    time.sleep(rng.random() * 0.1)
    if rng.random() < 0.2:
        g.process.send_signal(signal.SIGTERM)
        time.sleep(rng.random() * 0.5)
    g.kill()
    upload.close()
    crowd.join()
    return problems


def check_after(what, g, crowd, left):
    """All that was acknowledged has its end; `left` are the rows that the server left."""
    problems, tasks, counts = list(crowd.problems), [], {"ended": 0, "interrupted": 0, "ran": 0}
    for task_id, wanted in crowd.acknowledged.items():
        if task_id not in left:
            problems.append("%s was acknowledged and is not stored" % task_id)
            continue
        task = g.end_of(task_id)
        tasks.append(task)
        state = left[task_id]["state"]
        counts["interrupted" if state == "running" else "ran" if state == "queued" else "ended"] += 1
        if task_id in crowd.ended and task != crowd.ended[task_id]:
            problems.append("%s had ended, and is another now: %s, %s" % (task_id, str(crowd.ended[task_id])[:500], str(task)[:500]))
        problems += wanted.problems(task, state == "running" or task["reason"] == "interrupted" and state in ENDED)
    t.check("%s: all %d that were acknowledged have their end (%s)" % (what, len(crowd.acknowledged), counts), problems[:5])
    for task_id in {x["taskId"] for x in g.all_tasks()} - set(crowd.acknowledged):
        tasks.append(g.end_of(task_id))  # stored, and nobody has heard of it
    t.check(what + ": rows, answers and files agree", taskstore.disagreements(g.home, tasks)[:5])
    problems = []
    for task_id, wanted in crowd.acknowledged.items():
        if wanted.key and not problems:
            status, task = wanted.send(g)
            if status != 200 or task["taskId"] != task_id:
                problems.append("%s again is %d %s" % (task_id, status, str(task)[:500]))
    t.check(what + ": their idempotency keys are known", problems)
    return tasks, counts


def check_events(what, g, tasks):
    """Followers of what was interrupted are told, too."""
    problems = []
    for task in [x for x in tasks if x["reason"] == "interrupted"][:3]:
        status, events = g.events(task["taskId"])
        last = events[-1] if status == 200 and events else (None, None, {})
        if last[1] != "status" or last[2].get("status") != "failed" or last[2].get("reason") != "interrupted":
            problems.append("%d %s" % (status, events))
    t.check(what + ": followers are told", problems)


def clear(what, g, tasks):
    problems = [task["taskId"] for task in tasks if g.json("DELETE", "/v1/tasks/" + task["taskId"])[0] != 200]
    problems += g.until("files", lambda: (not g.files(), g.files()[:5])) + [str(r) for r in list(taskstore.rows(g.home))[:5]]
    m = g.metrics()
    problems += ["%s is %s" % (n, m[n]) for n in ("mayfly_tasks_queued", "mayfly_tasks_running", "mayfly_task_files_bytes") if m[n]]
    t.check(what + ": deleted tasks leave nothing", problems)


def kills(count, total, rng):
    with tempfile.TemporaryDirectory(prefix="mf-home-") as home:
        g = Server(home=home, settings=room_for(PLACES))
        for number in range(1, count + 1):
            what = "kill %d" % number
            crowd = Crowd(g, total, rng)
            problems = strike(g, crowd, total, rng)
            t.check(what + ": no process is left", leaks.strays_left())
            left = taskstore.rows(home)
            t.ok(not problems and set(taskstore.folders(home)) - set(left), what + ": a folder of nobody is left", problems)
            g = Server(home=home, settings=room_for(PLACES))
            tasks, _ = check_after(what, g, crowd, left)
            check_events(what, g, tasks)
            t.ok(g.run("print(open('a').read())", {"a": b"next"})["stdout"] == "next\n", what + ": the next task works")
            clear(what, g, list(g.all_tasks()))
        t.ok(g.stop() == 0, "the last one ends well", g.log()[-2000:])


def damage(home, ids):
    """What an operator or a disk may do to the files of three tasks."""
    folders = [os.path.join(home, "files", i) for i in ids]
    shutil.rmtree(folders[0])
    for folder, how in zip(folders[1:], ("other bytes", "a link")):
        path = os.path.join(folder, os.listdir(folder)[0])
        os.unlink(path)
        if how == "a link":
            os.symlink("/etc/passwd", path)
        else:
            with open(path, "wb") as f:
                f.write(b"X")


def stops():
    """SIGTERM: what ends in the time that is given keeps its own end, what does not is interrupted, what waits runs later."""
    with tempfile.TemporaryDirectory(prefix="mf-home-") as home:
        with Server(home=home) as g:
            short = g.submit(request("import time\nprint(1, flush=True)\ntime.sleep(2)\nprint(2)"))["taskId"]
            long = g.submit(request("import time\nprint(1, flush=True)\ntime.sleep(50)"))["taskId"]
            problems = g.until_running(short) + g.until_running(long)
            waiting = [g.submit(request("print(open('a').read())", {"a": b"%d" % i}))["taskId"] for i in range(30)]
            hurt = [g.submit(request("print(open('a').read())", {"a": b"y"}))["taskId"] for _ in range(3)]
            follower = g.follow(long)
            follower.read_until(b"event: stdout")
            late = form(form_request("print(open('a').read())"), part("files", b"late", "a"))
            upload = g.connect()
            upload.sendall(("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" %
                            (FORM["Content-Type"], len(late))).encode() + late[:100])
            in_flight = "mayfly_http_requests_in_flight"  # this question, the follower, the upload
            problems += g.until("the upload", lambda: (g.metrics()[in_flight] >= 3, g.metrics()[in_flight]))
            g.process.send_signal(signal.SIGTERM)
            upload.sendall(late[100:])
            answer = upload.recv(65536)
            upload.close()
            t.ok(answer.startswith(b"HTTP/1.1 202 "), "stop: an upload that is under way is taken", answer[:600])
            t.ok(g.process.wait(gateway.PATIENCE) == 0, "stop: it ends by itself", g.log()[-2000:])
            last = follower.last_id()
            follower.close()
        left = taskstore.rows(home)
        states = [left[i]["state"] for i in (short, long)] + sorted({left[i]["state"] for i in waiting})
        t.check("stop: one has ended, one was interrupted, the others wait",
                problems + ([] if states == ["succeeded", "failed", "queued"] else [str(states)]))
        t.check("stop: no process is left", leaks.strays_left())
        damage(home, hurt)
        with Server(home=home, tasks={"queue_max": 5}) as g:  # fewer places than tasks that wait already
            ends = [g.end_of(i) for i in (short, long, *waiting)]
            t.ok((ends[0]["stdout"], ends[0]["status"]) == ("1\n2\n", "succeeded"), "stop: what ended in time has its own end", ends[0])
            t.ok((ends[1]["stdout"], ends[1]["status"], ends[1]["reason"]) == ("1\n", "failed", "interrupted"),
                 "stop: what did not is interrupted, with what it had said", ends[1])
            rest = [(kind, data.get("reason")) for _, kind, data in g.events(long, last)[1]]
            t.ok(rest == [("status", "interrupted")], "stop: its follower goes on where it was, and is told", last, rest)
            t.check("stop: what waited runs after the next start",
                    [str(e) for i, e in enumerate(ends[2:32]) if (e["status"], e["stdout"]) != ("succeeded", "%d\n" % i)][:3])
            new = {x["taskId"] for x in g.all_tasks()} - {short, long, *waiting, *hurt}
            ends += [g.end_of(i) for i in new]
            t.ok([(e["status"], e["stdout"]) for e in ends[32:]] == [("succeeded", "late\n")], "stop: and so does what was taken last", ends[32:])
            bad = [g.end_of(i) for i in hurt]
            t.check("stop: tasks whose inputs were damaged meanwhile do not run",
                    [str(e) for e in bad if (e["status"], e["reason"], e["stdout"]) != ("failed", "disk", "")])
            for i in hurt:
                g.json("DELETE", "/v1/tasks/" + i)
            t.check("stop: rows, answers and files agree", taskstore.disagreements(home, ends))
            t.ok(g.stop() == 0, "stop: and that one ends well", g.log()[-2000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    args = parser.parse_args()
    gateway.need()
    t.note("seed %d" % args.seed)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    kills(args.count, args.tasks, random.Random(args.seed))
    stops()
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
