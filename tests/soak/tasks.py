#!/usr/bin/env python3
"""Soak of the task API: many tasks with files at full concurrency; memory, descriptors, processes and disk stay flat. Half of
the tasks are deleted by their clients, the others expire.

    tasks.py [--runs N] [--clients N] [--places N]

The first fifth warms up; what is compared is the state after it and at the end, when nothing runs and all has expired."""
import argparse
import hashlib
import http.client
import json
import os
import queue
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import taskstore  # noqa: E402
from tasks import ENDED, FORM, Server, form, form_request, part, request, room_for  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
COUNT = "import csv\nrows = list(csv.reader(open('data.csv')))\nprint(len(rows))\n"
WRITE = """import os
data = open('data.csv', 'rb').read()
os.mkdir('out')
open('out/copy.csv', 'wb').write(data * (4 if len(data) > 20000 else 1))
print(len(data))
"""
FAILING = "import sys\nprint(len(open('data.csv').read()), file=sys.stderr)\nraise SystemExit(3)\n"
PROGRAMS = (COUNT, WRITE, WRITE, COUNT, FAILING)
# A row of an expired task is remembered for a day: its id and times, in the table and its indexes.
BYTES_OF_A_ROW = 1 * KIB
t = tap.Tap()


class Client:
    """One connection that is kept, as a program would keep it."""

    def __init__(self, g):
        self.g, self.c = g, http.client.HTTPConnection("127.0.0.1", g.port, timeout=gateway.PATIENCE)

    def ask(self, method, path, body=None, headers=()):
        if body is not None and not isinstance(body, bytes):
            body, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        self.c.request(method, path, body, dict(headers))
        r = self.c.getresponse()
        return r.status, r.read()

    def submit(self, n, code, data):
        if n % 2:
            return self.ask("POST", "/v1/tasks", form(form_request(code), part("files", data, "data.csv")), FORM)
        return self.ask("POST", "/v1/tasks", request(code, {"data.csv": data}))

    def run(self, n):
        """What is wrong with run number n."""
        code = PROGRAMS[n % len(PROGRAMS)]
        data = b"city,%d\n" % n * (1 + n % 7 * 500)
        status, answer = self.submit(n, code, data)
        if status != 202:
            return "%d %s" % (status, answer[:300])
        path = "/v1/tasks/" + json.loads(answer)["taskId"]
        task = {"status": "queued"}
        while task["status"] not in ENDED:
            task = json.loads(self.ask("GET", path + "?wait=30")[1])
        lines, length = data.count(b"\n"), len(data)
        times = 4 if length > 20000 else 1  # some are kept in the database, others in a file
        want = {COUNT: ("succeeded", "%d\n" % lines, ""), WRITE: ("succeeded", "%d\n" % length, ""),
                FAILING: ("failed", "", "%d\n" % length)}[code]
        if (task["status"], task["stdout"], task["stderr"]) != want or task["inputs"][0]["sha256"] != hashlib.sha256(data).hexdigest():
            return str(task)[:700]
        if len(task["artifacts"]) != (code is WRITE) or code is WRITE and self.ask("GET", task["artifacts"][0]["url"]) != (200, data * times):
            return "artifacts: %s" % str(task["artifacts"])[:500]
        if n % 4 < 2:
            status, answer = self.ask("DELETE", path)
            if status != 200:
                return "DELETE: %d %s" % (status, answer[:300])
        return None


def run_many(g, first, last, clients, problems):
    todo = queue.Queue()
    for n in range(first, last):
        todo.put(n)

    def work(_):
        client = Client(g)
        while not problems:
            try:
                n = todo.get_nowait()
            except queue.Empty:
                return
            try:
                problem = client.run(n)
            except (OSError, http.client.HTTPException, ValueError) as e:
                problem = repr(e)
            if problem:
                problems.append("run %d: %s" % (n, problem))
        client.c.close()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def state(g):
    """When idle, and all that could expire has: everything that could grow."""
    names = ("mayfly_tasks_queued", "mayfly_tasks_running", "mayfly_executor_permits_busy", "mayfly_provider_busy",
             "mayfly_task_files_bytes")
    g.until("idle", lambda: (not any(g.metrics()[n] for n in names) and g.count() == 0 and not g.files(), ""))
    time.sleep(1)
    m = g.metrics()
    below = leaks.descendants(g.pid)
    supervisor = next(pid for pid in below if below[pid][0] == g.pid)
    found = {n: m[n] for n in names}
    found.update({"files": len(g.files()), "processes": len(below), "database": taskstore.database_bytes(g.home),
                  "rows": len(taskstore.rows(g.home)), "log": os.path.getsize(g.log_path)})
    for name, pid in (("server", g.pid), ("supervisor", supervisor)):
        found[name + " fds"], found[name + " resident"] = leaks.open_fds(pid), leaks.resident_bytes(pid)
    return found


def growth(early, late, places):
    """What is not flat. Small rooms that do not depend on the runs, but for the rows, and the log's lines."""
    expired = late["rows"] - early["rows"]
    rooms = {"server resident": 8 * MIB, "supervisor resident": 4 * MIB, "processes": 6, "server fds": 8,
             "supervisor fds": 4 * 2 * (2 * places + 24), "database": expired * BYTES_OF_A_ROW + 8 * MIB}
    return ["%s grew from %d to %d" % (n, early[n], late[n]) for n in early
            if n not in ("rows", "log") and late[n] > early[n] + rooms.get(n, 0)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--places", type=int, default=4)
    args = parser.parse_args()
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    problems, warm = [], args.runs // 5
    with Server(tasks={"retention_seconds": 2}, settings=room_for(args.places)) as g:
        t.ok(g.metrics()["mayfly_executor_permits"] == args.places, "%d may run at once" % args.places, g.metrics())
        run_many(g, 0, warm, args.clients, problems)
        early = state(g)
        begin = time.monotonic()
        run_many(g, warm, args.runs, args.clients, problems)
        seconds = time.monotonic() - begin
        late = state(g)
        t.check("%d tasks with files, each with its right answer" % args.runs, problems[:5])
        t.check("memory, descriptors, processes and disk are flat", growth(early, late, args.places))
        t.check("files are gone, and no task is shown", ["%s: %s" % (n, late[n]) for n in ("files", "mayfly_task_files_bytes") if late[n]])
        m = g.metrics()
        ends = {s: int(m['mayfly_tasks_total{status="%s"}' % s]) for s in ENDED}
        t.ok(sum(ends.values()) == args.runs and not ends["timed_out"] and not ends["cancelled"], "each has one end", ends)
        deleted = sum(n % 4 < 2 for n in range(args.runs))
        t.ok(m["mayfly_tasks_expired_total"] == args.runs - deleted == late["rows"], "what was not deleted has expired, and is remembered",
             m["mayfly_tasks_expired_total"], late["rows"], args.runs - deleted)
        t.note("%d runs in %.1f s" % (args.runs - warm, seconds))
        t.note("early %s" % early)
        t.note("late  %s" % late)
        t.ok(g.stop() == 0, "the server ends well", g.log()[-2000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
