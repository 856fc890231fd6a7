#!/usr/bin/env python3
"""`mayfly submit|get|cancel|tasks|fetch` and `mayfly run --server` against a server that says what a test wants: requests,
words, exit statuses, and answers that no honest server gives."""
import base64
import hashlib
import json
import os
import pty
import signal
import socket
import sys
import threading
import time

from command import OURS, Place, one_line

import fakeserver
import places
import tap

PROMPT_S = 60
ID = "task_01a2284c-66a8-7f90-b67e-ac279ac39149"
RECEIPT = {"provider": "local", "isolation": "full", "layers": ["user", "seccomp"], "seccompSha256": None, "landlockAbi": 4,
           "memoryControl": "cgroup2", "runtime": {"id": "python-data-analysis-v1", "digest": None, "pythonVersion": "3.12"},
           "start": "pool", "codeSha256": "0" * 64, "inputs": [],
           "limits": {"wallMs": 60000, "cpuMs": 0, "memoryBytes": 1 << 30, "pids": 64, "stdoutBytes": 1 << 20,
                      "stderrBytes": 1 << 20, "artifactBytes": 20 << 20, "artifactCount": 256}}


def task(status="succeeded", **more):
    ended = status not in ("queued", "running")
    t = {"taskId": ID, "status": status, "reason": "exit" if ended else None, "exitCode": 0 if ended else None, "signal": None,
         "stdout": "", "stderr": "", "truncated": {"stdout": False, "stderr": False}, "artifacts": [], "rejectedArtifacts": [],
         "denied": [], "inputs": [], "usage": {"durationMs": 12, "cpuMs": 10, "memoryMb": 31.4} if ended else None,
         "receipt": RECEIPT if ended else None, "createdAt": "2026-01-31T09:00:00.000Z", "startedAt": None,
         "finishedAt": None, "expiresAt": None}
    t.update(more)
    return t


def artifact(path, data, **more):
    a = {"artifactId": "artifact_1", "path": path, "sizeBytes": len(data), "sha256": hashlib.sha256(data).hexdigest(),
         "mimeType": "text/plain", "url": "http://evil.example/steal"}
    a.update(more)
    return a


SSE = {"Content-Type": "text/event-stream"}
GET, POST = "GET /v1/tasks/" + ID, "POST /v1/tasks"
CANCEL, EVENTS = POST + "/" + ID + "/cancel", GET + "/events"


def expect(done, status, stdout=None, stderr=None):
    problems = []
    if done.returncode != status:
        problems.append("exit status %r, not %r (%r)" % (done.returncode, status, done.stderr[-400:]))
    if stdout is not None and done.stdout != stdout:
        problems.append("standard output %r" % done.stdout[:300])
    if stderr is not None and done.stderr != stderr:
        problems.append("standard error %r" % done.stderr[:600])
    return problems


def run(place, server, *words, key=None, **more):
    env = {"MAYFLY_SERVER": server.url if hasattr(server, "url") else server, **({"MAYFLY_API_KEY": key} if key else {})}
    return place.run(*words, env=env, **more)


# ---- what is asked, and what is shown ----

def check_submit(t):
    with Place() as place, fakeserver.FakeServer({POST: (202, task("queued", queuePosition=1))}) as s:
        place.file("a.py", "print('\u2615')")
        place.file("in.csv", b"\xff\x00,1\n")
        done = run(place, s, "submit", "a.py", "-f", "in.csv:data/\u00fc \"x\".csv", "--timeout", "5000", "--memory", "256",
                   "--display-last", key="mayfly_secret")
        problems = expect(done, 0, (ID + "\n").encode(), b"")
        method, path, headers, body = s.asked[0]
        want = {"language": "python", "code": "print('\u2615')", "source_name": "a.py", "limits": {"timeoutMs": 5000, "memoryMb": 256},
                "display_last_expression": True,
                "files": [{"name": "data/\u00fc \"x\".csv", "content": base64.b64encode(b"\xff\x00,1\n").decode()}]}
        if (method, path, json.loads(body)) != ("POST", "/v1/tasks", want):
            problems.append((method, path, body))
        if headers.get("authorization") != "Bearer mayfly_secret" or headers.get("content-type") != "application/json":
            problems.append(headers)
        t.check("submit sends the program, its files and limits, and the key of the environment", problems)

        done = run(place, s, "submit", "-", "--json", stdin=b"print(1)")
        t.check("submit --json", expect(done, 0, None, b"") or
                ([] if json.loads(done.stdout)["taskId"] == ID and "authorization" not in s.asked[1][2] else [done.stdout]))
        for words, part in [(["submit"], "needs a program"), (["submit", "a.py", "b.py"], "one program at a time"),
                            (["submit", "a.py", "--timeout", "60001"], "--timeout"), (["submit", "no.py"], "No such file"),
                            (["submit", "a.py", "--memory", "63"], "--memory"), (["submit", "a.py", "--key", "x"], "--key"),
                            (["get"], "needs the id"), (["get", "../x"], "no id of a task"), (["get", ID, ID], "one task"),
                            (["get", ID, "--wait=0"], "--wait"), (["fetch", ID, "-o", "a.py"], "not a directory"),
                            (["cancel", "a/b"], "no id of a task"), (["tasks", "--status", "done"], "--status"),
                            (["tasks", "--limit", "101"], "--limit"), (["tasks", "--after", "a b"], "--after")]:
            t.check("wrong words: " + " ".join(words), one_line(run(place, s, *words), part))
        for where in ("ftp://x", "http://user:pw@host", "http://h/?q=1", "127.0.0.1:9000", "off", "unix:", "http://"):
            t.check("no server: " + where, one_line(place.run("tasks", "--server", where), "--server"))
        t.check("bad words ask nobody", [] if len(s.asked) == 2 else s.asked[2:])


def check_get(t):
    text = "caf\u00e9\n"
    ended = task("failed", stdout=text, stderr="oops\n", exitCode=7, artifacts=[artifact("a.txt", b"x")],
                 rejectedArtifacts=[{"path": "l", "reason": "symbolic link"}], denied=["network is disabled: 203.0.113.7:443"])
    words = ("oops\nmayfly: refused: network is disabled: 203.0.113.7:443\nmayfly: not taken: l: symbolic link\n"
             "mayfly: 1 file: 'mayfly fetch %s'\n" % ID).encode()
    with Place() as place, fakeserver.FakeServer({GET: (200, ended)}) as s:
        t.check("get shows an ended task, and ends as it did", expect(run(place, s, "get", ID), 7, text.encode(), words))
        done = run(place, s, "get", ID, "--json")
        t.check("get --json prints the task", expect(done, 7, None, b"") or ([] if json.loads(done.stdout) == ended else [done]))
        s.answers[EVENTS] = (200, fakeserver.events(("status", {"status": "running"}), ("stdout", {"text": text}),
                                                    ("stderr", {"text": "oops\n"}), ("status", ended)), SSE)
        t.check("get --wait shows what comes", expect(run(place, s, "get", ID, "--wait"), 7, text.encode(), words))
    for status, more, line in [("queued", {"queuePosition": 3}, "is queued, number 3"), ("running", {}, "is running")]:
        with Place() as place, fakeserver.FakeServer({GET: (200, task(status, stdout="so far", **more))}) as s:
            done = run(place, s, "get", ID)
            t.check("get of a task that is " + status, expect(done, 0, b"so far", ("mayfly: %s %s\n" % (ID, line)).encode()))
    with Place() as place, fakeserver.FakeServer({GET: [(200, task("running")), (200, task(stdout="done"))]}) as s:
        done = run(place, s, "get", ID, "--wait=9")
        problems = expect(done, 0, b"done", b"")
        if [p for _, p, _, _ in s.asked] != ["/v1/tasks/%s?wait=9" % ID] * 2:
            problems.append(s.asked)
        t.check("get --wait=S lets the server wait", problems)
    for exits, more in [(124, {"status": "timed_out", "reason": "wall_time", "exitCode": None}),
                        (137, {"status": "failed", "reason": "memory", "exitCode": None, "signal": 9}),
                        (134, {"status": "failed", "reason": "signal", "exitCode": None, "signal": 6}),
                        (130, {"status": "cancelled", "reason": "cancelled", "exitCode": None}),
                        (OURS, {"status": "failed", "reason": "interrupted", "exitCode": None})]:
        with Place() as place, fakeserver.FakeServer({GET: (200, task(**more))}) as s:
            t.check("exit status of %s (%s)" % (more["status"], more["reason"]), expect(run(place, s, "get", ID), exits, b""))


def check_lists(t):
    at = "2026-01-31T09:00:00.000Z"
    listed = {"object": "list", "has_more": False,
              "data": [{"taskId": ID, "status": "failed", "createdAt": at, "finishedAt": at, "artifactBytes": 2048},
                       {"taskId": ID, "status": "queued", "createdAt": at, "finishedAt": None, "artifactBytes": 0}]}
    with Place() as place, fakeserver.FakeServer({"GET /v1/tasks": (200, listed), CANCEL: (200, task("cancelled"))}) as s:
        done = run(place, s, "tasks", "--status", "timed_out", "--limit", "7", "--after", ID)
        problems = expect(done, 0, None, b"")
        rows = [r.split() for r in done.stdout.decode().splitlines()]
        if rows != [["ID", "STATUS", "CREATED", "FINISHED", "FILES"], [ID, "failed", at, at, "2.0", "KiB"], [ID, "queued", at]]:
            problems.append(done.stdout)
        if s.asked[0][1] != "/v1/tasks?limit=7&status=timed_out&after=" + ID:
            problems.append(s.asked)
        t.check("tasks", problems)
        done = run(place, s, "tasks", "--json")
        t.check("tasks --json", expect(done, 0, None, b"") or ([] if json.loads(done.stdout) == listed else [done]))
        t.check("cancel", expect(run(place, s, "cancel", ID), 0, b"", ("mayfly: %s is cancelled\n" % ID).encode()))
        done = run(place, s, "cancel", ID, "--json")
        t.check("cancel --json", expect(done, 0, None, b"") or ([] if json.loads(done.stdout)["status"] == "cancelled" else [done]))


def check_refusals(t):
    for status, headers, body, part in [
            (400, {}, {"error": {"message": "limits.memoryMb: at most 512", "param": "limits.memoryMb"}}, "at most 512"),
            (401, {}, {"error": {"message": "missing bearer token"}}, "wants an API key"),
            (404, {}, {"error": {"message": "No task with this id."}}, "No task with this id"),
            (404, {}, b"<html>nginx</html>", "status 404"),
            (410, {}, {"error": {"message": "The task has expired."}}, "has expired"),
            (429, {"Retry-After": "2"}, {"error": {"message": "The queue is full."}}, "queue is full"),
            (503, {}, {"error": {"message": "The interpreter is off."}}, "is off"),
            (500, {}, b"\xff\xfe", "status 500"), (302, {"Location": "http://127.0.0.1:1/"}, b"", "status 302"),
            (200, {}, b"not JSON", "the server's answer"), (200, {}, {"taskId": "x"}, "not a task"),
            (200, {}, b"[" * 100, "the server's answer"), (200, {}, [], "not a task"),
            (400, {}, {"error": {"message": "a\x1b[2Jb\u202ec\n" + "d" * 5000}}, "a [2Jb")]:
        with Place() as place, fakeserver.FakeServer({GET: (status, body, headers)}) as s:
            done = run(place, s, "get", ID)
            problems = one_line(done, part)
            if b"\x1b" in done.stderr or "\u202e".encode() in done.stderr or len(done.stderr) > 600:
                problems.append("a stranger's text as it came")
            t.check("status %d: %s" % (status, part), problems)
    with Place() as place:
        t.check("nobody there", one_line(run(place, "http://127.0.0.1:1", "get", ID), "no answer from http://127.0.0.1:1"))
        t.check("no socket there", one_line(run(place, "unix:" + place.path + "/x.sock", "get", ID), "/x.sock: is a server running there?"))
        t.check("a bad key", one_line(run(place, "http://127.0.0.1:1", "get", ID, key="a b"), "MAYFLY_API_KEY"))


# ---- files ----

def check_fetch(t):
    data = os.urandom(100000)
    url = GET + "/artifacts/artifact_1"
    ended = task(artifacts=[artifact("out/\u00fc.bin", data)])
    with Place() as place, fakeserver.FakeServer({GET: (200, ended), url: (200, data)}) as s:
        done = run(place, s, "fetch", ID, "-o", "there")
        t.check("fetch", expect(done, 0, b"") or ([] if place.read("there/out/\u00fc.bin") == data else ["content"]))
        done = run(place, s, "fetch", ID, "-o", "there")
        t.check("fetch replaces nothing unasked", expect(done, OURS, b"") or
                ([] if b"exists already" in done.stderr and place.read("there/mayfly-out-1/out/\u00fc.bin") == data else [done]))
        done = run(place, s, "fetch", ID, "-o", "there", "--force", "--json")
        want = {"taskId": ID, "directory": "there", "artifacts": ended["artifacts"]}
        t.check("fetch --json", expect(done, 0, None, b"") or ([] if json.loads(done.stdout) == want else [done]))
    with Place() as place, fakeserver.FakeServer({GET: (200, task("running"))}) as s:
        t.check("fetch before the end", one_line(run(place, s, "fetch", ID), "is running"))
    with Place() as place, fakeserver.FakeServer({GET: (200, task())}) as s:
        t.check("fetch without files", expect(run(place, s, "fetch", ID), 0, b"", ("mayfly: %s has no files\n" % ID).encode()))
    good, wrong = artifact("a", b"good"), (200, b"evil")
    hostile = [
        ("another content", [good], wrong), ("less than promised", [good], (200, b"goo")),
        ("more than promised", [good], (200, b"goodgood")), ("a cut body", [good], (200, b"go", {"Content-Length": "4"})),
        ("an endless body", [good], (200, b"x" * (30 << 20))), ("a missing body", [good], (404, b"")),
        ("a path upwards", [artifact("../a", b"good")], (200, b"good")), ("an absolute path", [artifact("/a", b"good")], (200, b"good")),
        ("a path with NUL", [artifact("a\0b", b"good")], (200, b"good")), ("a control character", [artifact("a\nb", b"good")], (200, b"good")),
        ("two of one name", [good, good], (200, b"good")), ("no digest", [artifact("a", b"good", sha256="x" * 64)], (200, b"good")),
        ("a size that is none", [artifact("a", b"good", sizeBytes=-1)], (200, b"good")),
        ("a huge size", [artifact("a", b"good", sizeBytes=1 << 62)], (200, b"good")),
        ("an id that is a path", [artifact("a", b"good", artifactId="../../../metrics")], (200, b"good")),
        ("too many", [artifact("f%d" % i, b"good") for i in range(257)], (200, b"good")),
        ("no objects", [1, "x", None], (200, b"good")), ("a file and a folder of one name",
                                                        [artifact("a", b"good"), artifact("a/b", b"good")], (200, b"good")),
    ]
    for name, artifacts, answer in hostile:
        with Place() as place, fakeserver.FakeServer({GET: (200, task(artifacts=artifacts)), url: answer}) as s:
            done = run(place, s, "fetch", ID, "-o", "out")
            problems = expect(done, OURS, b"")
            problems += place.names()
            if done.stderr.count(b"\n") != 1 or any("evil.example" in str(a) for a in s.asked):
                problems.append(done.stderr)
            t.check("fetch refuses " + name, problems)


# ---- following ----

def follow_answers(pieces, ended):
    return {POST: (202, task("queued")), GET: (200, ended), EVENTS: pieces, CANCEL: (200, task("cancelled", reason="cancelled"))}


def check_follow(t):
    whole = fakeserver.events(("status", task("running")), ("stdout", {"text": "one\n"}), ("stdout", {"text": "two\n"}),
                              ("status", task(stdout="one\ntwo\n")))
    cut = fakeserver.events(("status", task("running")), ("stdout", {"text": "one\nt"}))
    ended = task(stdout="one\ntwo\n")
    for command in ("submit", "run"):
        words = [command, "a.py"] + (["--wait"] if command == "submit" else [])
        with Place() as place:
            place.file("a.py", "pass")
            with fakeserver.FakeServer(follow_answers((200, whole, SSE), ended)) as s:
                t.check(command + " shows what comes", expect(run(place, s, *words), 0, b"one\ntwo\n", b""))
            with fakeserver.FakeServer(follow_answers([(200, cut, SSE), (503, b""), (200, whole, SSE)], ended)) as s:
                t.check(command + " goes on where a connection was cut", expect(run(place, s, *words), 0, b"one\ntwo\n", b""))
            with fakeserver.FakeServer(follow_answers((200, b"", SSE), ended)) as s:
                done = run(place, s, *words, "--json")
                t.check(command + " --json", expect(done, 0, None, b"") or
                        ([] if json.loads(done.stdout)["stdout"] == "one\ntwo\n" and json.loads(done.stdout)["usage"]["memoryMb"] == 31.4
                         else [done.stdout]))
            flood = fakeserver.events(*[("stdout", {"text": "x" * 60000})] * 40)
            counted = dict(ended, usage=dict(ended["usage"], fuel=231456))
            with fakeserver.FakeServer(follow_answers((200, whole, SSE), counted)) as s:
                done = run(place, s, *words, "--json")
                t.check(command + " --json shows the fuel that was used", expect(done, 0, None, b"") or
                        ([] if json.loads(done.stdout)["usage"].get("fuel") == 231456 else [done.stdout]))
            with fakeserver.FakeServer(follow_answers((200, flood, SSE), ended)) as s:
                done = run(place, s, *words)
                t.check(command + " stops a server that floods", expect(done, OURS) or
                        ([] if b"more than a task may print" in done.stderr else [done.stderr]))


def hang(handler):
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    data = fakeserver.events(("status", task("running")), ("stdout", {"text": "up\n"}))
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    handler.wfile.flush()
    try:
        while handler.connection.recv(1):
            pass
    except OSError:
        pass
    handler.close_connection = True


def check_signals(t):
    cancelled = task("cancelled", reason="cancelled", exitCode=None, stdout="up\n")
    for words, cancels, status in [(["run", "a.py"], True, 130), (["submit", "a.py", "--wait"], True, 130),
                                   (["get", ID, "--wait"], False, 130)]:
        with Place() as place, fakeserver.FakeServer(follow_answers(hang, cancelled)) as s:
            place.file("a.py", "pass")
            p = place.start(*words, env={"MAYFLY_SERVER": s.url})
            problems = [] if p.stdout.readline() == b"up\n" else ["nothing came"]
            p.send_signal(signal.SIGINT)
            _, err = p.communicate(timeout=PROMPT_S)
            asked = [a for a in s.asked if a[1].endswith("/cancel")]
            if (p.returncode, len(asked), err) != (status, int(cancels), b"mayfly: cancelled\n" if cancels else b""):
                problems.append((p.returncode, asked, err))
            t.check("^C of %s %s" % (words[0], "cancels the task" if cancels else "ends the watching only"), problems)
    with Place() as place, fakeserver.FakeServer(follow_answers(hang, cancelled)) as s:
        place.file("a.py", "pass")
        p = place.start("run", "a.py", env={"MAYFLY_SERVER": s.url})
        p.stdout.readline()
        p.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        s.answers[CANCEL] = hang
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=PROMPT_S)
        t.check("a second signal ends it at once", [] if p.returncode == 143 else [p.returncode])


class Screen:
    """A terminal for standard error, and what was written to it."""

    def __init__(self):
        self.ours, self.theirs = pty.openpty()
        self.shown, self.has_place = b"", threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)

    def read(self):
        try:
            while piece := os.read(self.ours, 4096):
                self.shown += piece
                if b"queued, number 3 " in self.shown:
                    self.has_place.set()
        except OSError:
            pass  # EIO: the last who had it is gone

    def run(self, place, server, *words, term):
        """The exit status, standard output, and what the screen got."""
        p = place.start(*words, env={"MAYFLY_SERVER": server.url, "TERM": term}, stderr=self.theirs)
        os.close(self.theirs)
        self.reader.start()
        out, _ = p.communicate(timeout=PROMPT_S * 2)
        self.reader.join(PROMPT_S)
        os.close(self.ours)
        return p.returncode, out, self.shown


def check_progress(t):
    """A task that waits in the queue, on a terminal: its place is shown, and goes away before the output comes."""
    for term, patience in (("xterm", PROMPT_S), ("dumb", 2.5)):
        screen = Screen()

        def wait(handler, screen=screen, patience=patience):
            data = [fakeserver.events(("status", task("queued", queuePosition=3))),
                    fakeserver.events(("stdout", {"text": "done\n"}), ("status", task(stdout="done\n")))]
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.send_header("Content-Length", str(sum(map(len, data))))
            handler.end_headers()
            handler.wfile.write(data[0])
            screen.has_place.wait(patience)
            handler.wfile.write(data[1])

        with Place() as place, fakeserver.FakeServer(follow_answers(wait, task(stdout="done\n"))) as s:
            place.file("a.py", "pass")
            status, out, shown = screen.run(place, s, "submit", "--wait", "a.py", term=term)
        problems = [] if (status, out) == (0, b"done\n") else [(status, out)]
        if term == "dumb" and shown:
            problems.append(shown)
        if term != "dumb" and not (b"\rqueued, number 3 " in shown and shown.endswith(b"\r\x1b[K")):
            problems.append(shown)
        t.check("submit --wait on a terminal that is " + term, problems)


# ---- which server ----

def check_auto(t):
    """The socket in the home folder, and when it is not trusted."""
    with Place() as place:
        home = os.path.join(place.path, "home")
        os.mkdir(home, 0o700)
        path = os.path.join(home, "mayfly.sock")
        env = {"AGENTIC_API_HOME": home, "MAYFLY_SERVER": ""}
        place.file("a.py", "print('from a sandbox of its own')")
        ended = task(stdout="from the server\n")
        answers = follow_answers((200, fakeserver.events(("stdout", {"text": "from the server\n"}), ("status", ended)), SSE), ended)
        with fakeserver.FakeServer(answers, unix_path=path) as s:
            for words in (["run", "a.py"], ["run", "a.py", "--server", "auto"], ["get", ID]):
                t.check("auto finds the socket: " + " ".join(words[:1]),
                        expect(place.run(*words, env=env), 0, b"from the server\n", b""))
            asked = len(s.asked)
            done = place.run("run", "a.py", "--server", "http://127.0.0.1:1", env=env)
            t.check("a server that was named is the only one", one_line(done, "no answer from"))
            for words in (["--pids", "3"], ["--stdlib"], ["--timeout", "60001"]):
                done = place.run("run", "a.py", "--server", "unix:" + path, *words, env=env)
                t.check("what a task cannot do is said of a named server: " + words[0], one_line(done, "a task of a server has no"))
                done = place.run("run", "a.py", *words, env={**env, "MAYFLY_SERVER": "unix:" + path})
                t.check("also of one that the environment names: " + words[0], one_line(done, "a task of a server has no"))
            os.chmod(home, 0o777)
            t.check("a home that others can write to is not trusted", one_line(place.run("get", ID, env=env), "no answer from http"))
            os.chmod(home, 0o700)
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
                t.check("nor is another user's socket", one_line(place.run("get", ID, env=env), "no answer from http"))
                os.chown(path, 0, 0)
            t.check("none of these asked it", [] if len(s.asked) == asked else s.asked[asked:])
        os.unlink(path)
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(path)
        dead.close()
        t.check("a socket of a dead server is passed over", one_line(place.run("get", ID, env=env), "no answer from http"))
        t.check("how to start one", one_line(place.run("get", ID, env=env), "'mayfly serve --code-interpreter' starts a server"))


def check_fall_back(t):
    """`run` without a server's name does it itself whatever a server says, as long as nothing was printed."""
    if not (places.runtime() and places.zygote()):
        t.skip("run falls back", "there is no sandbox here")
        return
    here = b"here\n"
    ended = task(stdout="there\n")
    for name, answers in [
            ("a server that is full", {POST: (429, {"error": {"message": "full"}})}),
            ("an older server", {}), ("one that refuses", {POST: (400, {"error": {"message": "no"}})}),
            ("one that wants a key", {POST: (401, b"")}), ("one without an interpreter", {POST: (503, b"")}),
            ("one that answers nonsense", {POST: (200, b"[]")}),
            ("one that loses the task", {POST: (202, task("queued")), EVENTS: (404, b"{}"), GET: (404, {"error": {"message": "x"}})}),
            ("one whose files are not what they were", {**follow_answers((200, fakeserver.events(("status", ended)), SSE), task(
                artifacts=[artifact("a", b"good")])), GET + "/artifacts/artifact_1": (200, b"evil")})]:
        with Place() as place:
            home = os.path.join(place.path, "home")
            os.mkdir(home, 0o700)
            place.file("a.py", "print('here')")
            with fakeserver.FakeServer(answers, unix_path=os.path.join(home, "mayfly.sock")) as s:
                done = place.run("run", "a.py", env={"AGENTIC_API_HOME": home, "MAYFLY_SERVER": ""})
                t.check("run falls back from " + name, expect(done, 0, here, b"") or ([] if s.asked else ["nobody was asked"]))
    with Place() as place:
        home = os.path.join(place.path, "home")
        os.mkdir(home, 0o700)
        place.file("a.py", "import sys\nprint('here', sys.argv[1:])")
        with fakeserver.FakeServer({}, unix_path=os.path.join(home, "mayfly.sock")) as s:
            for words in (["--server", "off"], ["--pids", "50"], ["--isolation", "require"], ["--stdlib"], ["--timeout", "60001"],
                          ["--", "x"]):
                done = place.run("run", "a.py", *words, env={"AGENTIC_API_HOME": home, "MAYFLY_SERVER": ""})
                t.check("run asks no server with " + " ".join(words), expect(done, 0) or ([] if not s.asked else s.asked))


def main():
    places.need("mayfly")
    t = tap.Tap()
    for check in (check_submit, check_get, check_lists, check_refusals, check_fetch, check_follow, check_progress, check_signals, check_auto,
                  check_fall_back):
        check(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
