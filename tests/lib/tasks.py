"""A server of the task API and what its clients do, with the standard library only."""
import base64
import hashlib
import json
import os
import re
import socket
import time

import gateway

BOUNDARY = "----tests-of-mayfly"
ENDED = ("succeeded", "failed", "timed_out", "cancelled")
# Lines of programs and of what they print that are looked for in a server's log: so long that it says them by no accident, and so
# many that the search is cheap.
SECRET_MIN, SECRET_MAX, SECRETS_MAX = 16, 2000, 500


def room_for(places):
    """Settings with which so many programs run at once."""
    return {"max_concurrent_guests": places, "max_aggregate_guest_memory_bytes": places << 27,
            "max_aggregate_worker_memory_bytes": places << 30}


def coded(data):
    return base64.b64encode(data).decode()


def request(code="print(1)", files=None, **more):
    body = {"language": "python", "code": code, **more}
    if files is not None:
        body["files"] = [{"name": n, "content": coded(d)} for n, d in files.items()]
    return body


def part(name, data, filename=None, content_type=None, more=""):
    """One part of a form, as browsers write it."""
    head = 'Content-Disposition: form-data; name="%s"' % name
    if filename is not None:
        head += '; filename="%s"' % filename.replace('"', "%22")
    if content_type:
        head += "\r\nContent-Type: " + content_type
    return ("--%s\r\n%s%s\r\n\r\n" % (BOUNDARY, head, more)).encode() + data + b"\r\n"


def form(*parts, end=True):
    return b"".join(parts) + (("--%s--\r\n" % BOUNDARY).encode() if end else b"")


def form_request(code="print(1)", **more):
    return part("request", json.dumps(request(code, **more)).encode(), content_type="application/json")


FORM = {"Content-Type": "multipart/form-data; boundary=" + BOUNDARY}


class Server(gateway.Gateway):
    """`tasks`: keys of [tasks]."""

    def __init__(self, tasks=None, upstream=None, env=None, **more):
        env = dict({"MAYFLY_TASKS_" + k.upper(): str(v) for k, v in (tasks or {}).items()}, **(env or {}))
        self.secrets = set()
        super().__init__(upstream, env=env, **more)

    def call(self, method, path, body=None, headers=()):
        answer = super().call(method, path, body, headers)
        if isinstance(body, dict) and "code" in body:
            self.remember(body["code"], *(f.get("name") for f in body.get("files", ()) if isinstance(f, dict)))
        return answer

    def remember(self, *texts):
        """Texts of a person or a program, which no log may have."""
        for text in texts:
            if isinstance(text, str) and len(self.secrets) < SECRETS_MAX:
                self.secrets.update(x.strip() for x in text[:SECRET_MAX].splitlines() if len(x.strip()) >= SECRET_MIN)

    def told(self):
        log = self.log()
        return next(("its log has %r" % s for s in list(self.secrets) if s in log), None)

    def json(self, method, path, body=None, headers=()):
        """Status, headers, what the JSON says."""
        status, got, data = self.call(method, path, body, headers)
        return status, got, json.loads(data) if data else None

    def submit(self, body, headers=()):
        status, _, task = self.json("POST", "/v1/tasks", body, headers)
        if status != 202:
            raise AssertionError("POST /v1/tasks: %d %s" % (status, task))
        return task

    def upload(self, *parts):
        status, _, task = self.json("POST", "/v1/tasks", form(*parts), FORM)
        if status != 202:
            raise AssertionError("POST /v1/tasks: %d %s" % (status, task))
        return task

    def task(self, task_id, wait=None, headers=()):
        status, _, task = self.json("GET", "/v1/tasks/%s%s" % (task_id, "" if wait is None else "?wait=%s" % wait), None,
                                    headers)
        if status != 200:
            raise AssertionError("GET /v1/tasks/%s: %d %s" % (task_id, status, task))
        self.remember(task["stdout"], *(a["path"] for a in task["artifacts"]))
        return task

    def end_of(self, task_id, patience=180):
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            task = self.task(task_id, wait=30)
            if task["status"] in ENDED:
                return task
        raise AssertionError("task %s does not end: %s" % (task_id, task["status"]))

    def run(self, code="print(1)", files=None, **more):
        return self.end_of(self.submit(request(code, files, **more))["taskId"])

    def until_running(self, task_id):
        return self.until("the task does not start", lambda: (self.task(task_id)["status"] != "queued", "queued"))

    def artifact(self, artifact, headers=(), method="GET"):
        return self.call(method, artifact["url"], None, headers)

    def artifacts_of(self, task):
        """{path: bytes}, and what is wrong with them."""
        found, problems = {}, []
        for a in task["artifacts"]:
            status, headers, data = self.artifact(a)
            if status != 200 or len(data) != a["sizeBytes"] or hashlib.sha256(data).hexdigest() != a["sha256"]:
                problems.append("%r: %d, %d bytes of %d, other content" % (a["path"], status, len(data), a["sizeBytes"]))
            if headers.get("etag") != '"%s"' % a["sha256"] or headers.get("content-type") != a["mimeType"]:
                problems.append("%r: %s" % (a["path"], headers))
            found[a["path"]] = data
        return found, problems

    def files(self):
        """What is on the disk of anybody's tasks: not the mark of the folder itself."""
        top = os.path.join(self.home, "files")
        return [os.path.join(where, n) for where, folders, names in os.walk(top) for n in names + folders
                if (where, n) != (top, "mayfly-files")]

    def count(self):
        return sum(1 for _ in self.all_tasks())

    def all_tasks(self, query=""):
        after = ""
        while True:
            status, _, page = self.json("GET", "/v1/tasks?limit=100%s%s" % (after, query))
            assert status == 200, page
            yield from page["data"]
            if not page["has_more"]:
                return
            after = "&after=" + page["last_id"]

    def events(self, task_id, last=None, query=""):
        """Status, and [(id, type, data)] up to the end of the stream."""
        headers = {"Last-Event-ID": last} if last else {}
        status, _, data = self.call("GET", "/v1/tasks/%s/events%s" % (task_id, query), None, headers)
        return status, events_of(data) if status == 200 else data

    def follow(self, task_id):
        return Follower(self, task_id)


def events_of(data):
    """[(id, type, data)]; a comment is (None, None, its text)."""
    found = []
    for frame in data.decode().split("\n\n"):
        if frame.startswith(":"):
            found.append((None, None, frame[1:]))
        elif frame:
            lines = dict(line.split(": ", 1) for line in frame.split("\n"))
            found.append((lines["id"], lines["event"], json.loads(lines["data"])))
    return found


class Follower:
    """A stream of events that is read piece by piece, over a plain socket."""

    def __init__(self, server, task_id):
        self.socket = server.connect()
        self.socket.sendall(("GET /v1/tasks/%s/events HTTP/1.1\r\nHost: localhost\r\n\r\n" % task_id).encode())
        self.data = b""

    def read_until(self, needle):
        while needle not in self.data:
            piece = self.socket.recv(65536)
            if not piece:
                raise AssertionError("the stream ends before %r: %r" % (needle, self.data[-500:]))
            self.data += piece

    def last_id(self):
        """Of the last event that has come whole."""
        return re.findall(rb"id: (\S+)\nevent: [^\n]*\ndata: [^\n]*\n\n", self.data)[-1].decode()

    def close(self):
        self.socket.close()


def raw(server, head, *pieces, then=None):
    """A request as it is written; what comes back until the server closes or a whole answer is there. Errors of sending
    are the server's way to say that it has read enough."""
    s = server.connect()
    try:
        s.sendall(head.encode())
        for piece in pieces:
            s.sendall(piece)
        if then == "half-close":
            s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    data = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                break
            data += piece
            if b"\r\n\r\n" in data and then == "head":
                break
    except OSError:
        pass
    s.close()
    return data
