#!/usr/bin/env python3
"""A disk that fails or is full under tasks: during an upload, while a program runs, while its files are collected. A clear
status, nothing left of what failed, and what expires makes room again."""
import os
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import leaks  # noqa: E402
import tap  # noqa: E402
from tasks import Server, request  # noqa: E402

MIB = 1 << 20
t = tap.Tap()


class Disk:
    """A small file system with a home in it, and something that takes its room."""

    def __init__(self, size):
        self.path = tempfile.mkdtemp(prefix="mf-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d,mode=0700" % size, "mf-test", self.path], check=True)
        self.home = os.path.join(self.path, "home")
        os.mkdir(self.home, 0o700)
        self.filler = os.path.join(self.path, "filler")

    def leave(self, n):
        """Room for n bytes and no more."""
        self.free()
        free = os.statvfs(self.path)
        with open(self.filler, "wb", buffering=0) as f:
            os.posix_fallocate(f.fileno(), 0, max(free.f_bavail * free.f_frsize - n, 1))

    def free(self):
        with open(self.filler, "wb"):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)
        os.rmdir(self.path)


def uploads(g, disk):
    before = sorted(g.files())
    disk.leave(3 * MIB)
    status, _, r = g.json("POST", "/v1/tasks", request(files={"large": os.urandom(12 * MIB)}))
    t.check("upload: 507 storage_full", [] if status == 507 and r["error"]["code"] == "storage_full" else [(status, r)])
    t.check("upload: nothing is left of it", [n for n in sorted(g.files()) if n not in before])
    free = os.statvfs(disk.path)
    t.ok(free.f_bavail * free.f_frsize > 2 * MIB, "upload: its room is given back", free.f_bavail)
    t.ok(g.run("print(5)")["stdout"] == "5\n", "upload: a small task runs all the same")


def collection(g, disk):
    disk.leave(3 * MIB)
    before = len(g.files())
    task = g.run("import os; open('a.bin','wb').write(os.urandom(9 << 20)); print('written')")
    refused = [a["path"] for a in task["rejectedArtifacts"]]
    t.ok(task["stdout"] == "written\n", "collection: what it printed is there", task)
    t.ok((task["status"], task["reason"], task["artifacts"], refused) == ("failed", "disk", [], ["a.bin"]),
         "collection: the task says that its file is not kept", {k: task[k] for k in ("status", "reason", "artifacts", "rejectedArtifacts")})
    t.ok(len(g.files()) <= before + 1, "collection: nothing is left of the file", g.files())


def no_room_at_all(g, disk):
    """The files of this server fill the disk; they expire, and it works again by itself."""
    disk.free()
    held = [g.submit(request("print(1)", files={"f": os.urandom(6 * MIB)}))["taskId"] for _ in range(2)]
    for task in held:
        g.end_of(task)
    running = g.submit(request("import time; time.sleep(3); print('done')"))["taskId"]
    g.until_running(running)
    disk.leave(0)
    status = 202
    for _ in range(3000): # what the database has of its own
        status, _, r = g.json("POST", "/v1/tasks", request("print(2)", files={"f": b"y" * 200000}))
        if status != 202:
            break
    t.check("no room: 507 storage_full", [] if status == 507 and r["error"]["code"] == "storage_full" else [(status, r)])
    task = g.end_of(running)
    t.ok(task["status"] == "succeeded" and task["stdout"] == "done\n", "no room: what ran has ended", task["status"])
    def is_gone():
        status = g.json("GET", "/v1/tasks/" + held[0])[0]
        left = [f for f in g.files() if any(task in f for task in held)]
        return status == 410 and not left, (status, left)
    t.check("no room: tasks expire all the same", g.until("it is there yet", is_gone, 120))
    status, _, r = g.json("POST", "/v1/tasks", request("print(3)", files={"f": b"z" * (3 * MIB)}))
    t.check("no room: what expired has made room", [] if status == 202 else [(status, r)])
    if status == 202:
        t.ok(g.end_of(r["taskId"])["stdout"] == "3\n", "no room: and the next task runs")


def failing():
    """The database cannot be written, and not for want of room: here its file may not be longer."""
    with Server() as g:
        t.ok(g.run("print(6)")["stdout"] == "6\n", "failing: it works at first")
        resource.prlimit(g.pid, resource.RLIMIT_FSIZE, (256 * 1024, resource.RLIM_INFINITY))
        for _ in range(100):
            status, headers, r = g.json("POST", "/v1/tasks", request("print(7)" + "#" * 5000))
            if status != 202:
                break
        t.ok(status == 503 and r["error"]["code"] == "unavailable" and "retry-after" in headers,
             "failing: 503 unavailable, with Retry-After", status, headers, r)
        resource.prlimit(g.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        t.ok(g.run("print(8)")["stdout"] == "8\n", "failing: it works again by itself")


def main():
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    failing()
    if os.geteuid() == 0:
        with Disk(64 * MIB) as disk:
            with Server({"retention_seconds": 15}, home=disk.home) as g:
                t.ok(g.run("print(4)")["stdout"] == "4\n", "there is room at first")
                for part in (uploads, collection, no_room_at_all):
                    part(g, disk)
    else:
        t.skip("a full disk", "needs root to mount a small file system")
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
