"""What a server's home folder has of its tasks: rows of the database, folders of files; and whether they agree."""
import glob
import hashlib
import os
import shutil
import sqlite3
import tempfile

STATES = ("queued", "running", "succeeded", "failed", "timed_out", "cancelled")


def _database(home):
    found = [p for p in glob.glob(os.path.join(home, "*")) if not p.endswith(("-wal", "-shm")) and os.path.isfile(p)
             and open(p, "rb").read(15) == b"SQLite format 3"]
    if len(found) != 1:
        raise AssertionError("the databases of %s: %s" % (home, found))
    return found[0]


def rows(home):
    """{id: {"state", "is_expired", "input_bytes", "artifact_bytes", "file_bytes", "has_request", "has_result", "files": {sha256:
    content}}}, of a copy: the server's own recovery is not done for it."""
    path = _database(home)
    with tempfile.TemporaryDirectory(prefix="mf-store-") as folder:
        copy = os.path.join(folder, "copy")
        for end in ("", "-wal"):
            if os.path.exists(path + end):
                shutil.copyfile(path + end, copy + end)
        db = sqlite3.connect(copy)
        try:
            found = db.execute("SELECT id, state, is_expired, input_bytes, artifact_bytes, file_bytes,"
                               " EXISTS (SELECT 1 FROM task_requests r WHERE r.task_key = t.key),"
                               " EXISTS (SELECT 1 FROM task_results r WHERE r.task_key = t.key) FROM tasks t").fetchall()
            files = {}
            for task_id, sha256, content in db.execute("SELECT t.id, f.sha256, f.content FROM task_files f JOIN tasks t ON t.key = f.task_key"):
                files.setdefault(task_id, {})[sha256] = content
            if db.execute("SELECT EXISTS (SELECT 1 FROM task_files WHERE task_key NOT IN (SELECT key FROM tasks))").fetchone()[0]:
                raise AssertionError("the database has files of nobody")
        finally:
            db.close()
    names = ("is_expired", "input_bytes", "artifact_bytes", "file_bytes", "has_request", "has_result")
    return {row[0]: dict(zip(names, row[2:]), state=STATES[row[1]], files=files.get(row[0], {})) for row in found}


# Inputs up to here in all are on the disk only where their task had to wait, artifacts up to here in all are in the database.
SMALL = 65536


def database_bytes(home):
    """What the database and what belongs to it take."""
    return sum(os.path.getsize(p) for p in glob.glob(_database(home) + "*") if os.path.exists(p))


def folders(home):
    """{task id: {name: bytes}}; a name of "" is something that is neither."""
    top, found = os.path.join(home, "files"), {}
    for name in os.listdir(top):
        path = os.path.join(top, name)
        if name == "mayfly-files":
            continue
        if not os.path.isdir(path) or os.path.islink(path):
            found[name] = {"": 0}
            continue
        try:
            found[name] = {n: os.path.getsize(os.path.join(path, n)) for n in os.listdir(path)}
        except FileNotFoundError:
            pass  # it was removed meanwhile
    return found


def contents(home, task_id, row, on_disk):
    yield from row["files"].items()
    for name in on_disk:
        with open(os.path.join(home, "files", task_id, name), "rb") as f:
            yield name, f.read()


def disagreements(home, tasks, whole=True):
    """What differs between these tasks, which are all that there are and have ended, as the API shows them; the rows; and the
    files. `whole`: contents are compared with their digests, too."""
    problems, known, on_disk = [], rows(home), folders(home)
    shown = {t["taskId"]: t for t in tasks}
    for task_id in set(shown) ^ set(known):
        problems.append("%s is only in the %s" % (task_id, "answers" if task_id in shown else "database"))
    for task_id in set(on_disk) - set(known):
        problems.append("%s is a folder of nobody: %s" % (task_id, on_disk[task_id]))
    for task_id, task in shown.items():
        row = known.get(task_id)
        if not row:
            continue
        may = {f["sha256"]: f["sizeBytes"] for f in [*task["inputs"], *task["artifacts"]]}
        must = {f["sha256"]: f["sizeBytes"] for f in [*(f for f in task["inputs"] if f["sizeBytes"] > SMALL), *task["artifacts"]]}
        in_row = {name: len(content) for name, content in row["files"].items()}
        have = {**on_disk.get(task_id, {}), **in_row}
        if not must.items() <= have.items() <= may.items():
            problems.append("%s (%s) has the files %s and should have %s" % (task_id, task["status"], have, may))
        sizes = (sum(f["sizeBytes"] for f in task["inputs"]), sum(f["sizeBytes"] for f in task["artifacts"]))
        if (row["state"], row["input_bytes"], row["artifact_bytes"]) != (task["status"], *sizes):
            problems.append("%s is %s, and stored as %s" % (task_id, (task["status"], *sizes), row))
        if sum(in_row.values()) != row["file_bytes"] or row["file_bytes"] > SMALL:
            problems.append("%s has %s in the database, which counts %d" % (task_id, in_row, row["file_bytes"]))
        large = {f["sha256"] for f in task["artifacts"] if f["sizeBytes"] > SMALL}
        if large & set(in_row):
            problems.append("%s has large files in the database" % task_id)
        if not row["has_result"] or row["is_expired"]:
            problems.append("%s is stored as %s" % (task_id, row))
        for name, content in contents(home, task_id, row, on_disk.get(task_id, {})) if whole else ():
            if hashlib.sha256(content).hexdigest() != name:
                problems.append("%s has another content than %s" % (task_id, name))
    return problems
