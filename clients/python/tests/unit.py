#!/usr/bin/env python3
"""The Python client without a Mayfly server: odd answers, odd files, odd moments. Prints TAP."""
import ast
import asyncio
import glob
import hashlib
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path[:0] = [PACKAGE, HERE, os.path.join(PACKAGE, "..", "..", "tests", "lib")]

import mayfly  # noqa: E402
from mayfly import _core, _http, _sse, errors, models  # noqa: E402
from both import KINDS, raised  # noqa: E402
from scripted import Scripted, answer, stream  # noqa: E402
import tap  # noqa: E402

RESULT = {"taskId": "task_1", "status": "succeeded", "stdout": "", "stderr": "", "artifacts": []}


def done(**more):
    return answer(json.dumps({**RESULT, **more}).encode())


def event(number, kind, data):
    return ("id: %s\nevent: %s\ndata: %s\n\n" % (number, kind, json.dumps(data, ensure_ascii=False))).encode()


END = event(9, "status", {"taskId": "task_1", "status": "succeeded"})


# ---- without a socket ----

def responses_cut_anywhere():
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\n"
    forms = [head + b"Content-Length: 5\r\n\r\nhello", head + b"\r\nhello",
             head + b"Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nh\r\n004\r\nello\r\n0\r\nT: u\r\n\r\n"]
    for data in forms:
        for at in range(len(data)):
            parser, body = _http.ResponseParser(), b""
            for piece in filter(None, (data[:at], data[at:])):
                body += parser.feed(piece)
            if not parser.is_done:
                body += parser.feed(b"")
            assert (parser.status, parser.headers["x"], body) == (200, "y", b"hello"), (data, at)
        if data is not forms[1]:
            for at in range(len(data)):
                parser = _http.ResponseParser()
                if at:
                    parser.feed(data[:at])
                assert isinstance(raised(parser.feed, b""), errors.ConnectionFailed), (data, at)


def responses_that_are_none():
    head = b"HTTP/1.1 200 OK\r\n"
    for data in (b"SSH-2.0-x\r\n\r\n", b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n", head + b"nothing\r\n\r\n",
                 head + b"Content-Length: -1\r\n\r\n", head + b"Content-Length: 0x5\r\n\r\n", head + b"X: " + b"a" * 70000,
                 head + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n", head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                 head + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 9000):
        assert isinstance(raised(_http.ResponseParser().feed, data), errors.ConnectionFailed), data[:80]


def events_cut_anywhere():
    said = "né 中 🙂 \u2028 \\ \""
    plain = b": hello\n\n" + event(1, "stdout", {"text": said}) + b"event: x\nid: 2\ndata: a\ndata: b\nretry: 5\nodd\n\n" + END
    plain += b"id: 10\nevent: stdout\ndata: {}\n"  # cut
    for data in (plain, plain.replace(b"\n", b"\r\n"), plain.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + plain):
        for at in range(len(data) + 1):
            parser = _sse.SseParser()
            got = [e for piece in (data[:at], data[at:]) for e in parser.feed(piece)]
            assert [(e.id, e.event) for e in got] == [("1", "stdout"), ("2", "x"), ("9", "status")], at
            assert json.loads(got[0].data) == {"text": said} and got[1].data == "a\nb", at


def answers_of_another_type():
    good = {**RESULT, "usage": {"durationMs": 1}, "exitCode": 0, "denied": ["a"], "newer": {"than": "this"}}
    task = models.task_of(good)
    assert task.usage.duration_ms == 1 and task.denied == ("a",) and task.raw["newer"] == {"than": "this"} and task.has_ended
    assert task.usage.fuel is None and models.task_of({**good, "usage": {"durationMs": 1, "fuel": 231456}}).usage.fuel == 231456
    nulls = {"taskId": "t", "status": "queued", "queuePosition": 3, "usage": None, "artifacts": None, "truncated": None}
    assert models.task_of(nulls).queue_position == 3 and models.task_of(nulls).artifacts == ()
    for bad in (None, [], 5, {}, {"taskId": "t"}, {**good, "taskId": 5}, {**good, "status": None}, {**good, "exitCode": "0"},
                {**good, "exitCode": True}, {**good, "artifacts": {}}, {**good, "artifacts": [5]}, {**good, "artifacts": [{}]},
                {**good, "usage": []}, {**good, "truncated": {"stdout": "no"}}, {**good, "inputs": [{"name": "a"}]}):
        assert isinstance(raised(models.task_of, bad), errors.BadAnswer), bad
    assert models.event_of("1", "news", {"a": 1}) is None


def rows_of_another_type():
    good = {"taskId": "t", "status": "queued", "queuePosition": 3, "inputBytes": 5, "artifactBytes": 0, "createdAt": "2026",
            "startedAt": None, "finishedAt": None, "expiresAt": None, "newer": 1}
    page = models.page_of({"data": [good, {**good, "status": "failed"}], "first_id": "t", "last_id": "t", "has_more": True})
    assert page.data[0] == models.TaskRow("t", "queued", 5, 0, 3, "2026") and page.data[0].raw == good and page.has_more
    assert [row.has_ended for row in page.data] == [False, True]
    assert models.page_of({"data": []}).data == ()
    for bad in (None, [], {}, {**good, "inputBytes": None}, {**good, "artifactBytes": "5"}, {**good, "inputBytes": True},
                {**good, "status": None}, {**good, "createdAt": 5}, {**good, "queuePosition": "1"}):
        assert isinstance(raised(models.page_of, {"data": [bad]}), errors.BadAnswer), bad


def errors_of_every_kind():
    full = json.dumps({"error": {"message": "m", "type": "t", "param": "limits.timeoutMs", "code": "c"}}).encode()
    e = errors.error_of(400, {}, full)
    assert (type(e), str(e), e.status, e.code, e.param, e.retry_after) == (
        errors.InvalidRequest, "m", 400, "c", "limits.timeoutMs", None)
    kinds = {401: errors.NotAuthenticated, 404: errors.NotFound, 409: errors.Conflict, 410: errors.Expired, 413: errors.InvalidRequest,
             429: errors.Busy, 500: errors.MayflyError, 503: errors.Busy, 507: errors.MayflyError, 301: errors.MayflyError}
    for status, kind in kinds.items():
        for body in (b"", b"<html>", b"null", b"[]", b'{"error": "x"}', b'{"error": {"message": 5, "code": []}}', b"[" * 100000):
            e = errors.error_of(status, {"retry-after": "7"}, body)
            assert type(e) is kind and str(e) == "HTTP status %d" % status and e.code == "http_%d" % status, (status, body[:40])
            assert e.retry_after == 7
    assert errors.error_of(503, {"retry-after": "soon"}, b"").retry_after is None
    assert errors.error_of(503, {"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, b"").retry_after == 0


def addresses():
    for url, want in {"http://a": ("a", 80, False, None, ""), "https://a/": ("a", 443, True, None, ""),
                      "http://[::1]:9000/v1": ("::1", 9000, False, None, ""), "http://a/b/v1/": ("a", 80, False, None, "/b"),
                      "unix:///x/y.sock": ("", 0, False, "/x/y.sock", "")}.items():
        a = _core.address_of(url)
        assert (a.host, a.port, a.is_tls, a.unix_path, a.prefix) == want, url
    for url in ("", "a", "ftp://a", "http://", "http://u:p@a", "http://a?q", "http://a#f", "unix://a/b", "unix:", "http://a:x"):
        assert isinstance(raised(mayfly.Mayfly, url), ValueError), url


def hostile_names_and_ids():
    names = ['a"b.csv', "c\r\nX: y", "d%22.csv", "é 中/🙂.txt", "'()*~!", "..\\x", "\0"]
    form, body = _core._body_of(mayfly.TaskRequest("1", [mayfly.InputFile(n, b"\r\n--") for n in names]))
    mark = form.split("boundary=")[1]
    parts = b"".join(body).decode("ascii").split("--" + mark)[1:-1]
    assert len(parts) == len(names) + 1 and json.loads(parts[0].split("\r\n\r\n")[1]) == {"language": "python", "code": "1"}
    for name, part in zip(names, parts[1:]):
        head = part.split("\r\n\r\n")[0]
        assert len(head.split("\r\n")) == 3 and _core.quote(name, safe="") in head, head
    assert _core._path_of("a/../b?c#d\r\n") == "/v1/tasks/a%2F..%2Fb%3Fc%23d%0D%0A"
    client = mayfly.Mayfly("http://127.0.0.1:1")
    for bad in ("", ".", "..", None, 5):
        assert isinstance(raised(client.get, bad), ValueError), bad
    for url in ("http://other/", "//other/", "/\\other", "x", "/a b", "/a\r\nX: y"):
        assert isinstance(raised(client.download, mayfly.Artifact("a", "a", 1, "", "", url)), ValueError), url
    for text in ("a\r\nX: y", "é", "\0"):
        assert isinstance(raised(client.submit, "1", idempotency_key=text), ValueError), text
        assert isinstance(raised(mayfly.Mayfly("http://127.0.0.1:1", text).get, "t"), ValueError), text
    assert "secret" not in repr(mayfly.Mayfly("http://a", "secret")) + repr(mayfly.TaskRequest("secret"))


def old_python():
    for path in glob.glob(os.path.join(PACKAGE, "mayfly", "*.py")):
        with open(path, encoding="utf-8") as f:
            ast.parse(f.read(), path, feature_version=(3, 9))


# ---- over sockets ----

def what_is_sent():
    for name, kind in KINDS.items():
        with Scripted(*[done()] * 5) as s:
            client = kind(s.url + "/base/v1", "secret")
            client.submit(mayfly.TaskRequest("1", timeout_ms=5, memory_mb=64, display_last_expression=True, source_name="a.py"),
                          idempotency_key="k")
            client.get("task_1", wait=1.5)
            client.cancel("task_1")
            client.delete("task_1")
            client.list(limit=3, after="é", status="failed")
        assert [head.split(" HTTP")[0] for head, _ in s.requests] == [
            "POST /base/v1/tasks", "GET /base/v1/tasks/task_1?wait=1.500", "POST /base/v1/tasks/task_1/cancel",
            "DELETE /base/v1/tasks/task_1", "GET /base/v1/tasks?limit=3&after=%C3%A9&status=failed"], s.requests
        assert all("\r\nAuthorization: Bearer secret\r\n" in head for head, _ in s.requests)
        assert "\r\nIdempotency-Key: k\r\n" in s.requests[0][0]
        assert json.loads(s.requests[0][1]) == {"language": "python", "code": "1", "limits": {"timeoutMs": 5, "memoryMb": 64},
                                                "display_last_expression": True, "source_name": "a.py"}


def an_answer_before_the_end_of_the_upload():
    def refuse(connection, reader):
        reader.readline()
        connection.sendall(answer(b'{"error":{"message":"too large","code":"body_too_large"}}', 413))
        while reader.read1(65536):  # as the server does it: what still comes is thrown away
            pass
    request = mayfly.TaskRequest("1", [mayfly.InputFile("a", b"x" * (16 << 20))])
    for name, kind in KINDS.items():
        with Scripted(refuse) as s:
            e = raised(kind(s.url).submit, request)
            assert (type(e), e.status, e.code) == (errors.InvalidRequest, 413, "body_too_large"), (name, repr(e))


def events_over_broken_connections():
    for name, kind in KINDS.items():
        with Scripted(stream(event(1, "stdout", {"text": "a"}), event(2, "stdout", {"text": "b"}), b"id: 3\nevent: stdout\nda", end=False),
                      b"", answer(b"{}", 503, ["Retry-After: 0"]), stream(event(3, "stdout", {"text": "c"})),
                      stream(event(8, "news", {}), END)) as s:
            events = list(kind(s.url).events("task_1"))
        assert [(e.id, e.type) for e in events] == [("1", "stdout"), ("2", "stdout"), ("3", "stdout"), ("9", "status")], (name, events)
        assert [head.partition("Last-Event-ID: ")[2][:1] for head, _ in s.requests] == ["", "2", "2", "2", "3"], (name, s.requests)
        with Scripted(b"HTTP/1.1 204 No Content\r\n\r\n") as s:
            assert list(kind(s.url).events("task_1", after="9")) == []


def leaving_events_early():
    closed = threading.Event()

    def endless(connection, reader):
        s.read(reader)
        connection.sendall(stream(event(1, "stdout", {"text": "a"}), end=False))
        if reader.read(1) == b"":
            closed.set()
    with Scripted(endless) as s:
        for _ in mayfly.Mayfly(s.url).events("task_1"):
            break
        assert closed.wait(60)
    closed.clear()

    async def leave():
        events = mayfly.AsyncMayfly(s.url).events("task_1")
        async for _ in events:
            break
        await events.aclose()
    with Scripted(endless) as s:
        asyncio.run(leave())
        assert closed.wait(60)


def trying_again():
    for name, kind in KINDS.items():
        with Scripted(done(status="queued"), b"", answer(b"{}", 429, ["Retry-After: 0"]), done(status="timed_out")) as s:
            assert kind(s.url).wait("task_1").status == "timed_out", name
        with Scripted(*[b""] * 3) as s:
            e = raised(kind(s.url, retries=2).wait, "task_1")
            assert type(e) is errors.ConnectionFailed and len(s.requests) == 3, (name, repr(e), s.requests)
        with Scripted(answer(b"{}", 410)) as s:
            assert isinstance(raised(kind(s.url).run, "1"), errors.Expired), name
        with Scripted(answer(b"{}", 429)) as s:
            assert isinstance(raised(kind(s.url).submit, "1"), errors.Busy), name
        with Scripted(answer(b"", 302, ["Location: /v1/tasks"])) as s:
            assert raised(kind(s.url).get, "1").status == 302, name


def silence():
    def quiet(connection, reader):
        s.read(reader)
        reader.read()
    for name, kind in KINDS.items():
        with Scripted(quiet) as s:
            e = raised(kind(s.url, timeout=0.2).get, "task_1")
            assert type(e) is errors.ConnectionFailed and "silent" in str(e), (name, repr(e))


def cancelled_while_it_runs():
    asked = threading.Event()

    def running(connection, reader):
        s.read(reader)
        asked.set()
        reader.read()

    async def cancel_soon(url):
        task = asyncio.ensure_future(mayfly.AsyncMayfly(url).run("1"))
        await asyncio.get_running_loop().run_in_executor(None, asked.wait, 60)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return
        raise AssertionError("it was not cancelled")
    with Scripted(done(status="running"), running, done()) as s:
        asyncio.run(cancel_soon(s.url))
    assert s.requests[2][0].startswith("POST /v1/tasks/task_1/cancel "), s.requests

    # A thread cannot be interrupted from outside: the same, step by step.
    steps = _core.Core("http://a", None, 1, 0).run("1", None)
    command = next(steps)
    while not isinstance(command, _core.Receive):
        command = steps.send(True)
    steps.send(done(status="running"))
    sent = []
    command = steps.throw(KeyboardInterrupt())
    while not isinstance(command, _core.Receive):
        sent += [command.data] if isinstance(command, _core.Send) else []
        command = steps.send(True)
    assert sent[0].startswith(b"POST /v1/tasks/task_1/cancel "), sent
    try:
        steps.send(done())
    except KeyboardInterrupt:
        return
    raise AssertionError("the interruption was swallowed")


def files_that_change():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data")
        for name, kind in KINDS.items():
            with open(path, "wb") as f:
                f.write(os.urandom(1 << 20))
            file = mayfly.InputFile.from_path(path)
            assert file.name == "data"
            with Scripted(done(), done()) as s:
                client = kind(s.url)
                client.submit(mayfly.TaskRequest("1", [file, mayfly.InputFile("t", "é")]))
                with open(path, "rb") as f:
                    assert f.read() in s.requests[0][1] and "é".encode() in s.requests[0][1]
                real, _core.piece_of = _core.piece_of, lambda p: _http.FilePiece(path, (1 << 20) + 1)
                try:
                    assert isinstance(raised(client.submit, mayfly.TaskRequest("1", [file])), ValueError), name
                finally:
                    _core.piece_of = real
            gone = mayfly.TaskRequest("1", [mayfly.InputFile.from_path(path + "-gone")])
            assert isinstance(raised(client.submit, gone), FileNotFoundError), name


def downloads():
    artifact = mayfly.Artifact("a", "a", 3, hashlib.sha256(b"abc").hexdigest(), "text/plain", "/v1/tasks/t/artifacts/a")
    for name, kind in KINDS.items():
        with Scripted(answer(b"abc")[:-1], answer(b"abc"), answer(b"ab"), answer(b"abd")) as s:
            client = kind(s.url)
            assert client.download(artifact) == b"abc"
            for _ in range(2):
                assert isinstance(raised(client.download, artifact), errors.BadAnswer), name


def unix_sockets():
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in KINDS.items():
            path = os.path.join(folder, name + ".sock")
            with Scripted(done(), unix_path=path) as s:
                assert kind(s.url).get("task_1").task_id == "task_1"
            assert "\r\nHost: localhost\r\n" in s.requests[0][0]
            assert isinstance(raised(kind("unix://" + path + "-gone").get, "t"), errors.ConnectionFailed)


def tls():
    """Needs the openssl command, to make a certificate."""
    with tempfile.TemporaryDirectory() as folder:
        key, chain = os.path.join(folder, "key.pem"), os.path.join(folder, "chain.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-keyout", key, "-out", chain, "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ours.load_cert_chain(chain, key)
        trusting = ssl.create_default_context(cafile=chain)
    request = mayfly.TaskRequest("1", [mayfly.InputFile("a", bytes(3 << 20))])
    for name, kind in KINDS.items():
        with Scripted(done(), stream(event(1, "stdout", {"text": "a"}), end=False), stream(END), b"", tls=ours) as s:
            client = kind(s.url, ssl_context=trusting)
            assert client.submit(request).task_id == "task_1" and len(s.requests[0][1]) > 3 << 20, name
            assert [e.id for e in client.events("task_1")] == ["1", "9"], name
            e = raised(kind(s.url).get, "task_1")
            assert isinstance(e, errors.ConnectionFailed) and "certificate" in str(e).lower(), (name, repr(e))


def main():
    t = tap.Tap()
    for work in (responses_cut_anywhere, responses_that_are_none, events_cut_anywhere, answers_of_another_type,
                 rows_of_another_type, errors_of_every_kind, addresses, hostile_names_and_ids, old_python, what_is_sent,
                 an_answer_before_the_end_of_the_upload, events_over_broken_connections, leaving_events_early, trying_again,
                 silence, cancelled_while_it_runs, files_that_change, downloads, unix_sockets, tls):
        problems = []
        if work is tls and not shutil.which("openssl"):
            t.skip("python: tls", "the openssl command is not here to make a certificate")
            continue
        try:
            work()
        except Exception as e:
            problems = [repr(e), *traceback.format_exc().splitlines()[-6:]]
        t.check("python: " + work.__name__.replace("_", " "), problems)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
