#!/usr/bin/env python3
"""Attacks on the task API: many at once with one idempotency key, a database that cannot be used, and commands that talk to
a server that hangs, answers without end, or answers with something else."""
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import fakeserver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402
from tasks import FORM, Server, form, form_request, part, request  # noqa: E402

ID = "task_00000000-0000-7000-8000-000000000000"
AT = "/v1/tasks/" + ID
PATIENCE = 120
t = tap.Tap()


# ---- the server ----

def at_once(calls):
    """What each of them gave."""
    found = []
    threads = [threading.Thread(target=lambda c=c: found.append(c())) for c in calls]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    return found


def check_same_key(g):
    key = {"Idempotency-Key": "all-at-once"}
    before = g.count()
    found = at_once([lambda i=i: g.json("POST", "/v1/tasks", request("print(%d)" % (i % 2), {"a": b"x" * 1000}), key)
                     for i in range(40)])
    ids = {task["taskId"] for status, _, task in found if status in (200, 202)}
    statuses = sorted(status for status, _, _ in found)
    t.ok(len(ids) == 1 and statuses.count(202) == 1 and statuses.count(200) == 19 and statuses.count(409) == 20,
         "40 at once with one idempotency key and two bodies are one task", statuses, ids)
    g.end_of(ids.pop())
    t.ok(g.count() == before + 1 and len(g.files()) == 2, "and one folder with one file", g.files())


def check_locked(g):
    """Somebody else has the database for himself: that is no full disk, and it is gone again soon."""
    kept = sorted(g.files())
    other = sqlite3.connect(os.path.join(g.home, "mayfly.db"), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    status, headers, answer = g.json("POST", "/v1/tasks", request("print(1)", {"a": b"x"}))
    other.execute("ROLLBACK")
    other.close()
    t.ok(status == 503 and answer["error"]["code"] == "unavailable" and headers.get("retry-after") == "1",
         "a locked database is 503 with Retry-After", status, headers, answer)
    t.ok(sorted(g.files()) == kept, "and leaves no file", g.files())
    t.ok(g.run("print(2)")["stdout"] == "2\n", "and afterwards all is well")


def check_hammered(g):
    """Cancel, delete, get and follow, all at once."""
    kept, problems = sorted(g.files()), []
    for i in range(6):
        at = "/v1/tasks/" + g.submit(request("import time; time.sleep(30)", {"a": b"x"}))["taskId"]
        calls = [("POST", at + "/cancel"), ("DELETE", at), ("GET", at + "?wait=5"), ("GET", at + "/events"), ("DELETE", at)]
        found = at_once([lambda c=c: (c, g.call(*c)[0]) for c in calls])
        problems += [one for one in found if one[1] not in (200, 404)]
        if g.call("GET", at)[0] != 404:
            problems.append("%s is still there" % at)
    t.check("cancel, delete, get and events at once", problems)
    t.ok(sorted(g.files()) == kept, "leave no file", g.files())


def check_stalled():
    """One key begins many large bodies and sends no more of them: they hold up nobody else's."""
    head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer one\r\n" \
           "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
    # What is free goes back to the system at once: so what is in use can be seen from outside.
    with Server(env={"MAYFLY_API_KEYS": "one,two", "MALLOC_MMAP_THRESHOLD_": "1000000"}) as g:
        stalled = [g.connect() for _ in range(8)]
        for s in stalled:
            s.sendall(head.encode())
        status, _, task = g.json("POST", "/v1/tasks", request("print(1)", {"a": b"x" * 1000000}), {"Authorization": "Bearer two"})
        stalled[0].settimeout(0)
        try:
            early = stalled[0].recv(100)
        except BlockingIOError:
            early = None
        t.ok(status == 202 and early is None, "a large body passes those that another key has begun", status, task, early)
        for s in stalled:
            s.close()
        check_stalled_forms(g)
        check_stalled_readers(g)


def memory_of(pid):
    with open("/proc/%d/statm" % pid, encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_stalled_forms(g):
    """The request of a form is in memory, too, until it is whole."""
    head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer one\r\n" \
           "Content-Type: %s\r\nContent-Length: 9000000\r\n\r\n" % FORM["Content-Type"]
    data = part("request", b"{" + b" " * 7500000)[:-2]
    before, stalled = memory_of(g.pid), [g.connect() for _ in range(24)]
    for s in stalled:
        s.settimeout(0.3)
        try:
            s.sendall(head.encode() + data)
        except OSError:
            pass  # the server takes no more for now
    grown = memory_of(g.pid) - before
    t.ok(grown < 110 << 20, "24 forms that stall in their request take no 24 x 7.5 MB", grown)
    status, _, task = g.json("POST", "/v1/tasks", form(form_request("print(2)"), part("files", b"x", "a")),
                             {**FORM, "Authorization": "Bearer two"})
    t.ok(status == 202, "and another key's form passes", status, task)
    for s in stalled:
        s.close()


def check_stalled_readers(g):
    """A result that is 12 MB of JSON, for many who take nothing."""
    code, at = "import sys; sys.stdout.write('\\x01' * (1 << 20)); sys.stderr.write('\\x01' * (1 << 20))", {}
    for key in ("one", "two"):
        who = {"Authorization": "Bearer " + key}
        at[key] = "/v1/tasks/" + g.submit(request(code), who)["taskId"]
        g.until("the task does not end", lambda a=at[key], w=who: (g.json("GET", a + "?wait=30", None, w)[2]["status"] == "succeeded", ""))
    before, stalled = memory_of(g.pid), [g.connect(receive_bytes=4096) for _ in range(48)]
    for s in stalled:
        s.sendall(("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer one\r\n\r\n" % at["one"]).encode())
    status, _, data = g.call("GET", at["two"], None, {"Authorization": "Bearer two"})
    grown = memory_of(g.pid) - before
    t.ok(status == 200 and len(data) > 12 * 1000 * 1000, "another key's large result passes those that nobody takes", status, len(data))
    t.ok(grown < 200 << 20, "48 readers of 12 MB that take nothing take no 48 x 12 MB", grown)
    for s in stalled:
        s.close()
    status, _, data = g.call("GET", at["one"], None, {"Authorization": "Bearer one"})
    t.ok(status == 200 and len(data) > 12 * 1000 * 1000, "and when they leave there is room again", status, len(data))


# ---- the commands ----

class Place:
    """A home with a fake server on its socket."""

    def __init__(self, answers):
        self.folder = tempfile.TemporaryDirectory(prefix="mf-attack-")
        self.home = os.path.join(self.folder.name, "home")
        os.mkdir(self.home, 0o700)
        self.program = os.path.join(self.folder.name, "program.py")
        with open(self.program, "w", encoding="utf-8") as f:
            f.write("print('a sandbox of our own')\n")
        self.server = fakeserver.FakeServer(answers, os.path.join(self.home, "mayfly.sock"))

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *_):
        self.server.__exit__()
        self.folder.cleanup()

    def mayfly(self, *argv):
        env = {k: v for k, v in os.environ.items() if not k.startswith("MAYFLY_SERVER")}
        env.update(AGENTIC_API_HOME=self.home, MAYFLY_RUNTIME=places.runtime())
        done = subprocess.run([places.mayfly(), *argv], env=env, cwd=self.folder.name, timeout=PATIENCE, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def asked(self, *what):
        return sum(1 for method, path, _, _ in self.server.asked if (method, path.split("?")[0]) == what)


def task(status="succeeded", **more):
    return {"taskId": ID, "status": status, "reason": "exit", "exitCode": 0, "stdout": "", "stderr": "", "artifacts": [], **more}


def check_hanging():
    over = threading.Event()
    with Place({"POST /v1/tasks": lambda handler: over.wait(PATIENCE)}) as p:
        done = p.mayfly("run", p.program)
        over.set()
        t.ok(done[:2] == (0, "a sandbox of our own\n"), "run: a server that hangs is not waited for", done)


def check_other_answers():
    answers = {"POST /v1/tasks": (202, task("queued")), "GET %s/events" % AT: (200, fakeserver.events(("stdout", {"text": 5}))),
               "POST %s/cancel" % AT: (200, task("cancelled"))}
    with Place(answers) as p:
        done = p.mayfly("run", p.program)
        t.ok(done[:2] == (0, "a sandbox of our own\n") and p.asked("POST", AT + "/cancel") == 1,
             "run: what a server was given and nobody waits for any more is cancelled there", done, p.server.asked)
    with Place({"GET " + AT: (200, task("running"))}) as p:
        done = p.mayfly("get", ID, "--wait=2")
        t.ok(done[0] == 0 and p.asked("GET", AT) < 20, "get --wait: a server that does not wait is not asked without end",
             done, p.asked("GET", AT))
    with Place({"POST %s/cancel" % AT: (200, [1]), "GET /v1/tasks": (200, "x")}) as p:
        for argv in (["cancel", ID], ["tasks"], ["tasks", "--json"]):
            done = p.mayfly(*argv)
            t.ok(done[0] == 125 and done[1] == "" and "the server's answer is not a" in done[2],
                 "%s: an answer that is something else" % " ".join(argv), done)
    with Place({"GET /v1/tasks": (200, {"data": [{"taskId": "\u202egpj\x1b[2J", "status": "\u009b31m"}]})}) as p:
        done = p.mayfly("tasks")
        t.ok(done[0] == 0 and done[1].isascii() and "\x1b" not in done[1], "tasks: a list that would steer a terminal", done)


def main():
    places.need("mayfly", "zygote", "runtime")
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with Server(tasks={"max_concurrent": 2}) as g:
        check_same_key(g)
        check_locked(g)
        check_hammered(g)
        t.ok(g.stop() == 0, "the server ends well", g.log()[-2000:])
    check_stalled()
    check_hanging()
    check_other_answers()
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
