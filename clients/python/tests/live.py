"""The Python client against `mayfly serve`, once through sockets and once through asyncio. For tests/clients/python.py."""
import asyncio
import csv
import hashlib
import io
import json
import os
import tempfile
import threading
import time
import traceback

import mayfly
from both import KINDS, raised
from cutter import Cutter
from mayfly import InputFile, TaskRequest

SLEEP = "import time\nprint('there', flush=True)\ntime.sleep(50)"
NAMES = ["plain.csv", "数据/é 🙂.csv", "a\"b%22.csv", " sp ace", "-rf", "'();*~!&=+$,#.txt", "..x"]
COUNT = """import time
for i in range(150):
    print('né', i, '🙂', flush=True)
    time.sleep(0.01)
open('a', 'w').write('b')"""
MAKE = """import os
for n in %r:
    os.makedirs(os.path.dirname(n) or '.', exist_ok=True)
    open(n, 'w').write('out ' + n)"""
LIST = """import json, os
places = [os.path.join(d, f) for d, _, files in os.walk('.') for f in files]
print(json.dumps({os.path.relpath(p): open(p).read() for p in places}))"""


class Live:
    """One kind of client. `url`: a server with the keys first-key and second-key; `small`: one with one place, a queue of one and
    a second of retention; `home`: of the first."""

    def __init__(self, kind, url, small, home):
        self.kind, self.url, self.home = kind, url, home
        self.client = kind(url, "first-key")
        self.small = kind(small)
        self.port = int(url.rsplit(":", 1)[1])

    def until_running(self, client, task_id):
        while client.get(task_id).stdout == "":
            time.sleep(0.02)

    # ---- what it is for ----

    def group_by_with_csv_in_and_csv_and_png_out(self):
        rows = "city,amount\n" + "".join("%s,%d\n" % (["Łódź", "München", "北京"][i % 3], i) for i in range(1000))
        code = """
import os, pandas as pd
os.mkdir("out")
df = pd.read_csv("data/sales.csv")
sums = df.groupby("city", as_index=False)["amount"].sum()
sums.to_csv("out/sums.csv", index=False)
sums.plot.bar(x="city", y="amount").figure.savefig("out/plot.png")
print(len(df), "rows")"""
        task = self.client.run(TaskRequest(code, [InputFile("data/sales.csv", rows)]))
        assert (task.status, task.stdout, task.exit_code) == ("succeeded", "1000 rows\n", 0), task
        assert [(a.path, a.mime_type) for a in task.artifacts] == [("out/plot.png", "image/png"), ("out/sums.csv", "text/csv")]
        png, table = [self.client.download(a) for a in task.artifacts]
        assert table.decode() == "city,amount\nMünchen,166167\nŁódź,166833\n北京,166500\n" and png[:4] == b"\x89PNG"
        for data, a in ((png, task.artifacts[0]), (table, task.artifacts[1])):
            assert (len(data), hashlib.sha256(data).hexdigest()) == (a.size_bytes, a.sha256)
        assert task.inputs[0].delimiter == "," and task.inputs[0].sha256 == hashlib.sha256(rows.encode()).hexdigest()
        assert task.usage.duration_ms > 0 and task.receipt and task.finished_at > task.created_at
        assert len(list(csv.reader(io.StringIO(table.decode())))) == 4

    def submit_get_cancel(self):
        task = self.client.submit(SLEEP)
        self.until_running(self.client, task.task_id)
        now = self.client.get(task.task_id)
        assert (now.status, now.stdout, now.reason) == ("running", "there\n", None), now
        assert self.client.cancel(task.task_id) is None
        assert self.client.get(task.task_id, wait=60).status == "cancelled"
        self.client.cancel(task.task_id)
        self.client.delete(task.task_id)
        assert isinstance(raised(self.client.get, task.task_id), mayfly.NotFound)

    def out_of_time_and_a_program_that_fails(self):
        assert self.client.run(TaskRequest("while True: pass", timeout_ms=300)).status == "timed_out"
        failed = self.client.run("print('né', end='')\nraise ValueError('中 🙂')")
        assert (failed.status, failed.reason, failed.exit_code, failed.stdout) == ("failed", "exception", 1, "né"), failed
        assert "ValueError: 中 🙂" in failed.stderr and failed.has_ended

    def a_last_expression_and_a_figure(self):
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n6 * 7"
        task = self.client.run(TaskRequest(code, display_last_expression=True))
        assert "42" in task.stdout and [a.path for a in task.artifacts] == ["figure-1.png"], task

    # ---- broken connections ----

    def events_over_connections_that_break(self):
        task = self.client.submit(COUNT)
        with Cutter(self.port, [900, 700, 1500, 333]) as proxy:
            events = list(self.kind(proxy.url, "first-key").events(task.task_id))
        joined = "".join(e.text for e in events if e.type == "stdout")
        assert joined == "".join("né %d 🙂\n" % i for i in range(150)), joined
        assert proxy.cuts == 4 and len({e.id for e in events}) == len(events), (proxy.cuts, events)
        assert [e.artifact.path for e in events if isinstance(e, mayfly.ArtifactEvent)] == ["a"]
        assert isinstance(events[-1], mayfly.StatusEvent) and events[-1].status == "succeeded" and events[-1].exit_code == 0
        half = len(events) // 2
        rest = list(self.client.events(task.task_id, after=events[half - 1].id))
        assert "".join(e.text for e in events[:half] + rest if e.type == "stdout") == joined
        assert list(self.client.events(task.task_id, after=events[-1].id)) == []

    def wait_and_download_over_connections_that_break(self):
        task = self.client.run("import os\nopen('a', 'wb').write(os.urandom(3000000))")
        with Cutter(self.port, [50, 0]) as proxy:
            assert self.kind(proxy.url, "first-key").wait(task.task_id) == task and proxy.cuts == 2
        with Cutter(self.port, [0, 2000, 1000000]) as proxy:
            data = self.kind(proxy.url, "first-key").download(task.artifacts[0])
            assert hashlib.sha256(data).hexdigest() == task.artifacts[0].sha256 and proxy.cuts == 3

    def what_is_aborted_leaves_nothing(self):
        newest = self.client.list(limit=1).first_id
        request = TaskRequest("1", [InputFile("a", bytes(16 << 20))])
        with Cutter(self.port, up=1 << 20) as proxy:
            if self.kind is mayfly.Mayfly:
                e = raised(self.kind(proxy.url, "first-key", timeout=0.5).submit, request)
                assert isinstance(e, mayfly.ConnectionFailed), repr(e)
            else:
                asyncio.run(cancel_when(proxy.stalled, mayfly.AsyncMayfly(proxy.url, "first-key").submit(request)))
        assert self.client.list(limit=1).first_id == newest
        if self.kind is not mayfly.Mayfly:
            began = threading.Event()

            def watch():
                while self.newest_status(newest) != "running":
                    time.sleep(0.02)
                began.set()
            watcher = threading.Thread(target=watch)
            watcher.start()
            asyncio.run(cancel_when(began, mayfly.AsyncMayfly(self.url, "first-key").run(SLEEP)))
            watcher.join()
            assert self.client.wait(self.client.list(limit=1).first_id).status == "cancelled"

    def newest_status(self, before):
        task = self.client.list(limit=1).data[0]
        return task.status if task.task_id != before else None

    # ---- files ----

    def names_of_every_kind(self):
        task = self.client.run(TaskRequest(LIST, [InputFile(n, "in " + n) for n in NAMES]))
        assert task.status == "succeeded" and json.loads(task.stdout) == {n: "in " + n for n in NAMES}, task
        assert sorted(i.name for i in task.inputs) == sorted(NAMES)
        task = self.client.run(MAKE % NAMES)
        assert sorted(a.path for a in task.artifacts) == sorted(NAMES), task
        assert all(self.client.download(a).decode() == "out " + a.path for a in task.artifacts)
        for name in ("../x", "/etc/passwd", "a\0b", "a\nb", "", "a/../../b", "x" * 300):
            e = raised(self.client.submit, TaskRequest(LIST, [InputFile("first", "1"), InputFile(name, "1")]))
            assert type(e) is mayfly.InvalidRequest and e.status == 400, (name, repr(e))
        assert raised(self.client.submit, TaskRequest(LIST, [InputFile("a", "1")] * 2)).status == 400

    def twenty_mebibytes_from_a_file(self):
        code = "import hashlib\nprint(hashlib.sha256(open('big', 'rb').read()).hexdigest())"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "big")
            data = os.urandom(20 << 20)
            with open(path, "wb") as f:
                f.write(data)
            file = InputFile.from_path(path)
            assert self.client.run(TaskRequest(code, [file])).stdout == hashlib.sha256(data).hexdigest() + "\n"
            e = raised(self.client.submit, TaskRequest(code, [file, InputFile("more", "1")]))
            assert type(e) is mayfly.InvalidRequest and e.status in (400, 413), repr(e)

    # ---- what is refused ----

    def what_is_wrong_is_named(self):
        for wrong, param in (({"timeout_ms": 0}, "limits.timeoutMs"), ({"timeout_ms": 60001}, "limits.timeoutMs"),
                             ({"timeout_ms": "5"}, "limits.timeoutMs"), ({"memory_mb": 1}, "limits.memoryMb"),
                             ({"language": "ruby"}, "language")):
            e = raised(self.client.submit, TaskRequest("1", **wrong))
            assert type(e) is mayfly.InvalidRequest and (e.status, e.param) == (400, param), repr(e)

    def anothers_task_an_unknown_one_a_wrong_key(self):
        task = self.client.run("open('a', 'w').write('b')")
        other = self.kind(self.url, "second-key")
        for call in (other.get, other.cancel, other.delete, other.wait, lambda i: list(other.events(i)),
                     lambda i: other.download(task.artifacts[0])):
            assert isinstance(raised(call, task.task_id), mayfly.NotFound)
        for task_id in ("task_unknown", "../../healthz", "a b/ü"):
            assert isinstance(raised(self.client.get, task_id), mayfly.NotFound), task_id
        assert other.list().data == ()
        assert isinstance(raised(self.kind(self.url, "no-key").list), mayfly.NotAuthenticated)
        assert self.client.get(task.task_id) == task

    def idempotency(self):
        request = TaskRequest("print(1)", [InputFile("a", "b")])
        key = "python-%s" % self.kind.__name__
        first = self.client.submit(request, idempotency_key=key)
        assert self.client.submit(request, idempotency_key=key).task_id == first.task_id
        assert self.client.run(request, idempotency_key=key).stdout == "1\n"
        e = raised(self.client.submit, TaskRequest("print(2)"), idempotency_key=key)
        assert type(e) is mayfly.Conflict and (e.status, e.code) == (409, "idempotency_key_reused"), repr(e)

    def list_page_by_page(self):
        made = [self.client.submit("print(1)").task_id for _ in range(3)][::-1]
        first = self.client.list(limit=2)
        second = self.client.list(limit=1, after=first.last_id)
        assert [t.task_id for t in first.data + second.data] == made and first.has_more
        assert all(t.status == "cancelled" for t in self.client.list(limit=100, status="cancelled").data)

    def a_row_of_the_list_has_sizes_and_times(self):
        code = "open('a', 'w').write('four')\nopen('b', 'w').write('seven..')"
        task = self.client.run(TaskRequest(code, [InputFile("c", "abc")]))
        row = self.client.list(limit=1).data[0]
        assert row == mayfly.TaskRow(task.task_id, "succeeded", input_bytes=3, artifact_bytes=11, created_at=task.created_at,
                                     started_at=task.started_at, finished_at=task.finished_at, expires_at=task.expires_at), row
        assert row.has_ended and not hasattr(row, "artifacts") and row.finished_at

    def a_name_for_the_code(self):
        failed = self.client.run(TaskRequest("1 / 0", source_name="sums of 2.py"))
        assert '/sums of 2.py", line 1' in failed.stderr, failed
        e = raised(self.client.submit, TaskRequest("1", source_name="a/b.py"))
        assert type(e) is mayfly.InvalidRequest and (e.status, e.param) == (400, "source_name"), repr(e)

    def a_full_queue(self):
        running = self.small.submit(SLEEP)
        self.until_running(self.small, running.task_id)
        queued = self.small.submit("1")
        assert (queued.status, queued.queue_position) == ("queued", 1), queued
        e = raised(self.small.submit, TaskRequest("1", [InputFile("a", bytes(1 << 20))]))
        assert type(e) is mayfly.Busy and (e.status, e.code) == (429, "queue_full") and e.retry_after >= 1, repr(e)
        self.small.cancel(running.task_id)
        assert self.small.wait(queued.task_id).status == "succeeded"

    def after_its_time_it_is_gone(self):
        task = self.small.run("open('a', 'w').write('b')")
        while True:
            try:
                self.small.get(task.task_id)
            except mayfly.Expired as e:
                assert (e.status, e.code) == (410, "task_expired")
                break
            time.sleep(0.1)
        for call in (lambda: self.small.download(task.artifacts[0]), lambda: list(self.small.events(task.task_id)),
                     lambda: self.small.wait(task.task_id)):
            assert isinstance(raised(call), mayfly.Expired)

    # ---- the server's own socket ----

    def unix_socket(self):
        client = self.kind("unix://" + os.path.join(self.home, "mayfly.sock"))
        task = client.run(TaskRequest("print(open('a').read())", [InputFile("a", "é")]))
        assert task.stdout == "é\n" and [e.type for e in client.events(task.task_id)][-1] == "status"
        assert isinstance(raised(self.client.get, task.task_id), mayfly.NotFound)  # a key's owner is somebody else
        client.delete(task.task_id)


async def cancel_when(event, call):
    """Cancels the call once the event (of threads) is set."""
    task = asyncio.ensure_future(call)
    while not event.is_set():
        assert not task.done(), await task
        await asyncio.sleep(0.01)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return
    raise AssertionError("it was not cancelled")


TESTS = [name for name, value in vars(Live).items() if callable(value) and
         name not in ("__init__", "until_running", "newest_status")]


def run(t, url, small, home, only=None):
    for kind_name, kind in KINDS.items():
        live = Live(kind, url, small, home)
        for name in TESTS:
            if only and only not in name:
                continue
            problems = []
            try:
                getattr(live, name)()
            except Exception as e:
                problems = [repr(e)[:1500], *traceback.format_exc().splitlines()[-6:]]
            t.check("python, %s: %s" % (kind_name, name.replace("_", " ")), problems)
