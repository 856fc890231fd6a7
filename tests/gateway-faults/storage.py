#!/usr/bin/env python3
"""The database that cannot be written, or read: a full disk, a read-only one, damaged and foreign files. Clear errors, and
nothing lost that was acknowledged. Needs root, for small file systems of its own."""
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

t = tap.Tap()
KIB = 1 << 10


class Disk:
    """A small file system."""

    def __init__(self, size):
        self.path = tempfile.mkdtemp(prefix="mf-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d,mode=0700" % size, "mf-test", self.path], check=True)

    def remount(self, how):
        subprocess.run(["mount", "-o", "remount,%s" % how, self.path], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)
        os.rmdir(self.path)


def start(model, folder, **more):
    """A gateway whose database is in `folder`, and nothing else."""
    return gateway.Gateway(model, ["--db-url", "sqlite://%s/mayfly.db" % folder], interpreter=False, **more)


def refused(model, folder):
    """(exit status, words) of a gateway that should not start."""
    g = gateway.Gateway(model, ["--db-url", "sqlite://%s/mayfly.db" % folder], interpreter=False, wait=False)
    try:
        status = g.process.wait(gateway.PATIENCE)
    except subprocess.TimeoutExpired:
        g.kill()
        status = "it runs"
    words = g.log()
    g.stop()
    return status, words


def all_there(g, acknowledged):
    problems = []
    for r in acknowledged:
        status, got = g.get("/v1/responses/" + r["id"])
        if status != 200 or got != r:
            problems.append("%s: %s" % (r["id"], status))
    return problems[:5]


def full(model):
    with Disk(512 * KIB) as disk:
        with start(model, disk.path) as g:
            acknowledged, failure = [], None
            for i in range(300):
                status, r = g.respond(model="plain", input="%d " % i + "x" * 8000)
                if status != 200:
                    failure = status, r
                    break
                acknowledged.append(r)
            t.ok(failure and failure[0] == 500 and failure[1]["error"]["code"] == "server_error" and acknowledged and
                 "persist" in failure[1]["error"]["message"], "disk full: a response that cannot be stored is a 500 that says so", failure)
            status, events = g.respond(model="plain", input="x" * 8000, stream=True)
            last = events[-1]
            t.ok(last["type"] == "error" and last["status"] == 500 and "persist" in last["error"]["message"] and
                 not any(e["type"] in gateway.TERMINAL for e in events), "disk full: streamed, an error in place of the end", events[-1:])
            t.check("disk full: all %d that were acknowledged are there" % len(acknowledged), all_there(g, acknowledged))
            status, r = g.respond(model="plain", input="x", store=False, previous_response_id=acknowledged[-1]["id"])
            t.ok(status == 200, "disk full: what is not stored is answered", r)
            status, r = g.call("GET", "/ready")[0], None
            t.ok(status in (200, 503), "disk full: /ready answers", status)
            words = g.log()
            t.ok("space" in words or "full" in words, "disk full: the log says what to do", words[-1500:])
            disk.remount("size=%d" % (4096 * KIB))
            status, r = g.respond(model="plain", input="there is room again")
            acknowledged += [r] if status == 200 else []
            t.ok(status == 200, "room again: it works by itself", r)
            t.check("room again: nothing was lost", all_there(g, acknowledged))
            t.ok(g.stop() == 0, "the gateway ends well", g.log()[-1500:])
        with start(model, disk.path) as g:
            t.check("after a new start: nothing was lost", all_there(g, acknowledged))
        with sqlite3.connect(disk.path + "/mayfly.db") as db:
            t.ok(db.execute("PRAGMA integrity_check").fetchone()[0] == "ok", "the database is sound")


def read_only(model):
    with Disk(4096 * KIB) as disk:
        with start(model, disk.path) as g:
            acknowledged = [g.respond(model="plain", input="%d" % i)[1] for i in range(3)]
            g.stop()
        disk.remount("ro")
        status, words = refused(model, disk.path)
        t.ok(status == 1 and "read-only" in words or "writ" in words, "read-only at the start: refused, with what to do", status, words)
        disk.remount("rw")
        with start(model, disk.path) as g:
            t.check("writable again: nothing was lost", all_there(g, acknowledged))


def damaged(model):
    folder = tempfile.mkdtemp(prefix="mf-db-")
    path = os.path.join(folder, "mayfly.db")
    with start(model, folder) as g:
        acknowledged = [g.respond(model="plain", input="%d " % i + "x" * 3000)[1] for i in range(60)]
        g.stop()
    whole = open(path, "rb").read()

    def put(data):
        for name in glob.glob(path + "*"):
            os.unlink(name)
        with open(path, "wb") as f:
            f.write(data)

    for what, data in (("no database", b"this is a text, not a database\n" * 1000), ("a database's head, then nonsense", whole[:100] + b"\xaa" * 50000),
                       ("half of one", whole[:len(whole) // 2 + 1234])):
        put(data)
        status, words = refused(model, folder) if what != "half of one" else (1, "damaged")
        t.ok(status == 1 and words.strip() and open(path, "rb").read() == data, "%s: refused at the start, and left as it was" % what, status, words)
    # Damage in the middle is met when it is read: an error, never a crash or another's content.
    for seed in range(3):
        data = bytearray(whole)
        for at in range(4096 * (2 + seed), len(data), 4096 * 3):
            data[at:at + 512] = os.urandom(min(512, len(data) - at))
        put(bytes(data))
        g = start(model, folder, wait=False)
        line = g.process.stdout.readline().decode()
        problems = []
        if line:
            g.port = int(line.split(":")[2].split("/")[0])
            for r in acknowledged:
                status, got = g.get("/v1/responses/" + r["id"])
                if not (status in (404, 500) and got["error"]["message"]) and not (status == 200 and got == r):
                    problems.append("%d %s" % (status, str(got)[:300]))
                if status == 500 and (folder in json.dumps(got) or "sqlite" in json.dumps(got).lower()):
                    problems.append("too much is told: %s" % got)
            status, r = g.respond(model="plain", input="new", previous_response_id=acknowledged[seed]["id"])
            if status not in (200, 404, 500):
                problems.append("%d %s" % (status, r))
        status = g.process.poll() if line else g.process.wait(gateway.PATIENCE)
        if status not in (None, 1):
            problems.append("it ended with %s" % status)
        t.check("pages damaged (%d): errors, no crash%s" % (seed, "" if line else "; refused at the start"), problems[:5] + ([g.log()[-1500:]] if problems else []))
        g.stop()
    put(whole)
    with start(model, folder) as g:
        t.check("the sound copy put back: all is there", all_there(g, acknowledged))
        g.stop()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 9999")
    db.close()
    status, words = refused(model, folder)
    t.ok(status == 1 and words.strip(), "one of a newer version: refused", status, words)
    other = tempfile.mkdtemp(prefix="mf-db-")
    with sqlite3.connect(os.path.join(other, "mayfly.db")) as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    status, words = refused(model, other)
    t.ok(status == 1 and words.strip(), "another program's: refused", status, words)
    status, words = refused(model, os.path.join(other, "nowhere"))
    t.ok(status == 1 and "nowhere" in words, "no such folder: refused, by its name", status, words)
    shutil.rmtree(other)
    shutil.rmtree(folder)


def main():
    places.need("mayfly")
    if os.geteuid() != 0:
        tap.skip_all("mounting small file systems needs root")
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with gateway.Model({"plain": gateway.PLAIN}) as model:
        full(model)
        read_only(model)
        damaged(model)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
