#!/usr/bin/env python3
"""The task API on the wire: a task's way, waiting, cancelling, the queue, repeated submissions, events, artifacts, lists,
expiry, a restart, and what the log does not say."""
import hashlib
import json
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
from tasks import ENDED, FORM, Server, form, form_request, part, request  # noqa: E402

MIB = 1 << 20
SECRET = "planted-7c2e"
# Waits to be let go by the test: a cancelled task never is.
SLEEP = "import time; print('begun', flush=True); time.sleep(50)"
MEMBERS = {"taskId", "status", "reason", "exitCode", "signal", "stdout", "stderr", "truncated", "artifacts", "rejectedArtifacts",
           "denied", "inputs", "usage", "receipt", "createdAt", "startedAt", "finishedAt", "expiresAt"}
t = tap.Tap()


def error_of(answer):
    status, _, data = answer
    return status, json.loads(data)["error"]["code"]


def check_way(g):
    status, headers, task = g.json("POST", "/v1/tasks", request("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))
    t.ok(status == 202 and set(task) - {"queuePosition"} == MEMBERS, "202 and the whole task", status, task)
    t.ok(headers["location"] == "/v1/tasks/" + task["taskId"] and headers["cache-control"] == "private, no-store", "where it is", headers)
    end = g.end_of(task["taskId"])
    t.ok((end["status"], end["reason"], end["exitCode"], end["stdout"], end["stderr"]) == ("failed", "exit", 3, "out\n", "err\n"), "its end", end)
    t.ok(set(end) == MEMBERS and end["receipt"]["isolation"] and end["finishedAt"] < end["expiresAt"], "the end is whole", end)
    status, _, head = g.call("HEAD", "/v1/tasks/" + task["taskId"])
    t.ok(status == 200 and head == b"", "HEAD", status)
    status, _, again = g.json("POST", "/v1/tasks/%s/cancel" % task["taskId"])
    t.ok(status == 200 and again == end, "cancelling what has ended changes nothing", again)
    status, _, gone = g.json("DELETE", "/v1/tasks/" + task["taskId"])
    t.ok(status == 200 and gone == {"taskId": task["taskId"], "deleted": True}, "delete", gone)
    t.ok(error_of(g.call("GET", "/v1/tasks/" + task["taskId"])) == (404, "not_found"), "a deleted one is unknown")
    t.ok(error_of(g.call("DELETE", "/v1/tasks/" + task["taskId"])) == (404, "not_found"), "deleting twice is 404")


def check_cancel(g):
    running = g.submit(request(SLEEP))["taskId"]
    g.until_running(running)
    waiters = [threading.Thread(target=lambda: seen.append(g.end_of(running))) for _ in range(3)]
    seen = []
    for w in waiters:
        w.start()
    status, _, task = g.json("POST", "/v1/tasks/%s/cancel" % running)
    for w in waiters:
        w.join(gateway.PATIENCE)
    end = g.end_of(running)
    t.ok(status == 200 and (end["status"], end["reason"]) == ("cancelled", "cancelled"), "cancel while it runs", task)
    t.ok(seen == [end] * 3, "who waits is told", seen)
    status, _, again = g.json("POST", "/v1/tasks/%s/cancel" % running)
    t.ok(status == 200 and again == end, "cancel twice", again)
    other = g.submit(request(SLEEP))["taskId"]
    g.until_running(other)
    t.ok(g.json("DELETE", "/v1/tasks/" + other)[0] == 200, "delete while it runs")
    t.ok(error_of(g.call("GET", "/v1/tasks/" + other)) == (404, "not_found"), "and it is unknown")
    task = g.submit(request(SLEEP))
    before = time.monotonic()
    task = g.task(task["taskId"], wait="0.25")
    t.ok(task["status"] == "running" and time.monotonic() - before >= 0.25, "a wait that is over shows what there is", task["status"])
    g.json("POST", "/v1/tasks/%s/cancel" % task["taskId"])


def check_queue():
    with Server(tasks={"queue_max": 2, "max_concurrent": 1}) as g:
        first = g.submit(request(SLEEP))["taskId"]
        queued = [g.submit(request("print(%d)" % i)) for i in range(2)]
        t.ok([(q["status"], q["queuePosition"]) for q in queued] == [("queued", 1), ("queued", 2)], "positions in the queue", queued)
        status, headers, data = g.call("POST", "/v1/tasks", request())
        t.ok(error_of((status, headers, data)) == (429, "queue_full") and int(headers["retry-after"]) > 0, "a full queue is 429", headers, data)
        status, headers, data = g.call("POST", "/v1/tasks", form(form_request(), part("files", bytes(MIB), "a")), FORM)
        t.ok(error_of((status, headers, data)) == (429, "queue_full") and int(headers["retry-after"]) > 0, "for uploads too", headers, data)
        status, _, task = g.json("POST", "/v1/tasks/%s/cancel" % queued[0]["taskId"])
        t.ok(status == 200 and task["status"] == "cancelled" and task["startedAt"] is None, "cancel before it starts", task)
        t.ok(g.task(queued[1]["taskId"])["queuePosition"] == 1, "the next one moves up")
        m = g.metrics()
        t.ok((m["mayfly_tasks_queued"], m["mayfly_tasks_running"], m["mayfly_tasks_refused_total"] > 0) == (1, 1, True), "figures of the queue", m)
        g.json("POST", "/v1/tasks/%s/cancel" % first)
        end = g.end_of(queued[1]["taskId"])
        t.ok(end["stdout"] == "1\n" and "queuePosition" not in end, "what waited runs", end)


def check_repeated(g):
    key = {"Idempotency-Key": "order 66"}
    body = request("print(len(open('a').read()))", {"a": b"xyz"})
    status, headers, first = g.json("POST", "/v1/tasks", body, key)
    t.ok(status == 202 and "idempotent-replayed" not in headers, "the first with a key", status, headers)
    status, headers, again = g.json("POST", "/v1/tasks", body, key)
    t.ok(status == 200 and again["taskId"] == first["taskId"] and headers["idempotent-replayed"] == "true", "the same again: 200, the same task", status, headers)
    upload = form(form_request("print(len(open('a').read()))"), part("files", b"xyz", "a"))
    status, _, again = g.json("POST", "/v1/tasks", upload, {**key, **FORM})
    t.ok(status == 200 and again["taskId"] == first["taskId"], "the same as a form", status, again)
    for name, other in (("other code", request("print(2)", {"a": b"xyz"})), ("another file", request("print(len(open('a').read()))", {"a": b"xyy"})),
                        ("another limit", dict(body, limits={"timeoutMs": 5}))):
        status, _, data = g.call("POST", "/v1/tasks", other, key)
        error = json.loads(data)["error"]
        t.ok((status, error["code"], error["param"]) == (409, "idempotency_key_reused", "Idempotency-Key"), "the key with %s: 409" % name, error)
    g.end_of(first["taskId"])
    folders = {os.path.basename(f) for f in g.files() if "task_" in f and os.path.isdir(f)}
    tasks = g.all_tasks()
    t.ok({x["taskId"] for x in tasks if x["artifactBytes"]} <= folders <= {x["taskId"] for x in tasks if x["inputBytes"] + x["artifactBytes"]},
         "refused and repeated ones leave no folder", g.files())


def told(events):
    """What a follower knows in the end: pieces of text may be cut differently another time, and a status that has passed is not told."""
    texts = {k: "".join(d["text"] for _, kind, d in events if kind == k) for k in ("stdout", "stderr")}
    return texts, [d for _, kind, d in events if kind == "artifact"], [e[1:] for e in events[-1:]]


def check_events(g):
    code = ("import sys, os, time\nfor i in range(3):\n  print('Zeile ä☕', i, flush=True)\n  time.sleep(.1)\nprint('to stderr', file=sys.stderr, flush=True)\n"
            "os.makedirs('d')\nopen('d/one.csv', 'w').write('a,b\\n1,2\\n')\nopen('two.txt', 'w').write('2')")
    task = g.submit(request(code))
    status, events = g.events(task["taskId"])
    end = g.task(task["taskId"])
    text = {k: "".join(d["text"] for _, kind, d in events if kind == k) for k in ("stdout", "stderr")}
    t.ok(status == 200 and text == {"stdout": end["stdout"], "stderr": end["stderr"]}, "the pieces are the text", text)
    t.ok([d for _, k, d in events if k == "artifact"] == end["artifacts"], "artifacts as in the task", events)
    last = events[-1]
    t.ok(last[1] == "status" and last[2]["status"] == "succeeded" and last[2]["exitCode"] == 0, "the last one is the status of the end", last)
    ids = [e[0] for e in events]
    t.ok(len(set(ids)) == len(ids), "each has an id of its own", ids)
    problems = []
    for i, event in enumerate(events):
        for how in ({"last": event[0]}, {"query": "?after=" + event[0]}, {"last": event[0], "query": "?after=0.0.0.0"}):
            status, rest = g.events(task["taskId"], **how)
            good = status == 204 if event is last else status == 200 and told(rest) == told(events[i + 1:])
            if not good:
                problems.append("behind %s with %s: %s %s" % (event[0], how, status, rest))
    t.check("it goes on behind each event, after the end with 204", problems)
    status, headers, data = g.call("HEAD", "/v1/tasks/%s/events" % task["taskId"])
    t.ok(status == 200 and headers["content-type"].startswith("text/event-stream") and not data, "HEAD of events", headers)


def check_followers(g):
    """Live, by several; one that leaves ends nothing."""
    task = g.submit(request("import time\nfor i in range(100):\n  print(i, flush=True)\n  time.sleep(0.02)"))
    leaver, stayer = g.follow(task["taskId"]), g.follow(task["taskId"])
    leaver.read_until(b'"status":"running"')
    leaver.read_until(b"event: stdout")
    t.ok(g.task(task["taskId"])["status"] == "running", "text arrives while it runs")
    leaver.close()
    stayer.read_until(b'"status":"succeeded"')
    stayer.close()
    end = g.task(task["taskId"])
    t.ok(end["status"] == "succeeded" and end["stdout"].endswith("99\n"), "a follower that leaves ends nothing but itself", end)
    task = g.submit(request(SLEEP))
    follower = g.follow(task["taskId"])
    follower.read_until(b"begun")
    g.json("POST", "/v1/tasks/%s/cancel" % task["taskId"])
    follower.read_until(b'"status":"cancelled"')
    follower.close()
    t.ok(True, "a follower sees that it was cancelled")


def check_pulse(g):
    """A quiet task: a comment comes, so that nobody in between thinks that the connection is dead."""
    task = g.submit(request(SLEEP))
    follower = g.follow(task["taskId"])
    try:
        follower.read_until(b"\r\n:\n\n")
        problems = []
    except (OSError, AssertionError) as e:
        problems = ["%r: %r" % (e, follower.data)]
    follower.close()
    g.json("POST", "/v1/tasks/%s/cancel" % task["taskId"])
    t.check("a comment line comes while nothing happens", problems)


def check_download(g):
    data = hashlib.shake_128(b"artifact").digest(300000)
    task = g.run("import shutil; shutil.copy('in.bin', 'out.bin'); open('none', 'w')", {"in.bin": data})
    a = next(x for x in task["artifacts"] if x["path"] == "out.bin")
    empty = next(x for x in task["artifacts"] if x["path"] == "none")
    tag = '"%s"' % a["sha256"]
    status, headers, got = g.artifact(a)
    want = {"content-length": "300000", "etag": tag, "accept-ranges": "bytes", "x-content-type-options": "nosniff",
            "cache-control": "private, no-store", "content-disposition": 'attachment; filename="out.bin"', "content-type": a["mimeType"],
            "content-security-policy": "default-src 'none'; sandbox"}
    t.ok((status, got) == (200, data) and want.items() <= headers.items(), "all of it", status, headers)
    status, headers, got = g.artifact(a, method="HEAD")
    t.ok((status, got) == (200, b"") and want.items() <= headers.items(), "HEAD", status, headers)
    n = len(data)
    for text, first, last in (("0-0", 0, 0), ("5-9", 5, 9), ("299999-", n - 1, n - 1), ("100-999999999", 100, n - 1), ("-7", n - 7, n - 1), ("-999999", 0, n - 1)):
        status, headers, got = g.artifact(a, {"Range": "bytes=" + text})
        t.ok((status, got, headers.get("content-range")) == (206, data[first:last + 1], "bytes %d-%d/%d" % (first, last, n)), "bytes=" + text, status, headers)
    for text in ("300000-", "999999999-", "-0"):
        status, headers, got = g.artifact(a, {"Range": "bytes=" + text})
        t.ok((status, headers.get("content-range")) == (416, "bytes */%d" % n) and json.loads(got)["error"]["param"] == "Range", "bytes=%s: 416" % text, status, headers)
    for text in ("bytes=9-5", "bytes=0-1,5-6", "bytes=a-b", "bytes=", "bytes=-", "lines=0-1", "0-1"):
        status, _, got = g.artifact(a, {"Range": text})
        t.ok((status, got == data) == (200, True), "%s: all of it" % text, status)
    for name, value, whole in (("this", tag, False), ("another", '"x"', True), ("a weak", "W/" + tag, True), ("a date", "Mon, 30 Nov 2026 09:00:00 GMT", True)):
        status, _, got = g.artifact(a, {"Range": "bytes=0-1", "If-Range": value})
        t.ok((status, len(got)) == ((200, n) if whole else (206, 2)), "If-Range with %s tag" % name, status)
    for value, expected in ((tag, 304), ("*", 304), ('"a", W/%s' % tag, 304), ('"a", "b"', 200), (a["sha256"], 200)):
        status, headers, got = g.artifact(a, {"If-None-Match": value})
        t.ok(status == expected and headers["etag"] == tag and (status == 200 or not got), "If-None-Match: %d" % expected, status, headers)
    status, headers, got = g.artifact(empty)
    t.ok((status, got, headers["content-length"]) == (200, b"", "0"), "an empty one", status, headers)
    t.ok(g.artifact(empty, {"Range": "bytes=0-"})[0] == 416 and g.artifact(empty, {"Range": "bytes=-1"})[0] == 416, "and no range of it")
    t.ok(error_of(g.call("GET", "/v1/tasks/%s/artifacts/%s" % (g.run()["taskId"], a["artifactId"]))) == (404, "not_found"), "not through another task")


def check_slow_readers(g):
    """20 MiB for many who take nothing: they wait on the disk."""
    task = g.run("open('big', 'wb').write(bytes(20 << 20))")
    before, sockets = g.rss(), []
    for _ in range(20):
        s = g.connect(receive_bytes=4096)
        s.sendall(("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % task["artifacts"][0]["url"]).encode())
        s.recv(1)
        sockets.append(s)
    t.ok(g.run()["status"] == "succeeded", "others are served meanwhile")
    grown = g.rss() - before
    t.ok(grown < 20 * MIB, "readers that take nothing cost little memory", "%d bytes" % grown)
    for s in sockets:
        s.close()


def check_slow_senders(g):
    """Uploads that stop on the way: what has come is on the disk. JSON that is announced and does not come takes turns."""
    head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
    before, sockets = g.rss(), []
    held = g.metrics()["mayfly_task_files_bytes"]
    body = form(form_request(), part("files", bytes(15 * MIB), "a"), end=False)
    for _ in range(8):
        s = g.connect()
        s.sendall((head % (FORM["Content-Type"], len(body) + 1000)).encode() + body)
        sockets.append(s)
    t.check("uploads arrive", g.until("bytes", lambda: (g.metrics()["mayfly_task_files_bytes"] - held > 100 * MIB, "few")))
    grown = g.rss() - before
    t.ok(grown < 30 * MIB, "8 uploads of 15 MiB cost little memory", "%d bytes" % grown)
    t.ok(g.run()["status"] == "succeeded", "others are served meanwhile")
    for s in sockets:
        s.close()
    t.check("and leave no file", g.until("bytes", lambda: (g.metrics()["mayfly_task_files_bytes"] <= held, "%d, not %d" % (g.metrics()["mayfly_task_files_bytes"], held))))
    sockets = [g.connect() for _ in range(4)]
    for s in sockets:
        s.sendall((head % ("application/json", 36 * MIB)).encode())
    large = []
    waiter = threading.Thread(target=lambda: large.append(g.submit(request(files={"a": bytes(MIB)}))))
    waiter.start()
    t.ok(g.run()["status"] == "succeeded", "small JSON does not wait for large")
    for s in sockets:
        s.close()
    waiter.join(gateway.PATIENCE)
    t.ok(large and g.end_of(large[0]["taskId"])["status"] == "succeeded", "large JSON has its turn when others leave", large)


def check_list(g):
    ids = [g.submit(request())["taskId"] for _ in range(5)]
    for i in ids:
        g.end_of(i)
    pages, after = [], ""
    while True:
        page = g.json("GET", "/v1/tasks?limit=2" + after)[2]
        pages += page["data"]
        if not page["has_more"]:
            break
        after = "&after=" + page["last_id"]
    names = [x["taskId"] for x in pages]
    t.ok(names[:5] == ids[::-1] and len(set(names)) == len(names), "pages, newest first", names)
    t.ok(page["object"] == "list" and page["last_id"] == names[-1] and not any("stdout" in x for x in pages), "and what they hold", page)
    got = {s: {x["taskId"] for x in g.all_tasks("&status=" + s)} for s in ENDED + ("queued", "running")}
    t.ok(set(ids) <= got["succeeded"] and sum(map(len, got.values())) == len(names), "by status", got)


def check_expiry():
    with Server(tasks={"retention_seconds": 1}) as g:
        task = g.run("open('a', 'w').write('1')", {"in": b"x"})
        path = "/v1/tasks/" + task["taskId"]
        t.check("it expires", g.until("410", lambda: (g.call("GET", path)[0] == 410, "")))
        for method, rest in (("GET", ""), ("GET", "?wait=1"), ("GET", "/events"), ("POST", "/cancel"), ("GET", "/artifacts/" + task["artifacts"][0]["artifactId"])):
            t.ok(error_of(g.call(method, path + rest)) == (410, "task_expired"), "%s %s of an expired task is 410" % (method, rest.split("_")[0]))
        t.check("and its files are gone", g.until("files", lambda: (not g.files(), g.files())))
        t.ok(g.count() == 0, "and it is not listed")


def check_restart():
    with Server() as g:
        task = g.run("print(1); open('a.csv', 'w').write('1')", {"in": b"x"})
        events = g.events(task["taskId"])[1]
        g.stop_keeping_home()
        with Server(home=g.home) as h:
            t.ok(h.task(task["taskId"]) == task, "a result outlives the server")
            found, problems = h.artifacts_of(task)
            t.check("and its files", problems + ([] if found == {"a.csv": b"1"} else [str(found)]))
            t.ok(h.events(task["taskId"], events[0][0])[1] == events[1:], "and its events go on where a follower was", events)
            with Server(home=g.home, env={"MAYFLY_LOCAL_SOCKET": "false"}, upstream="http://127.0.0.1:9") as second:
                status, _, body = second.json("GET", "/v1/tasks")
                t.ok((status, body["error"]["code"]) == (503, "unavailable"), "a second server does not touch them", body, second.log()[-1000:])


def check_alone(g):
    """Without an LLM server."""
    for method, path in (("POST", "/v1/responses"), ("POST", "/v1/chat/completions"), ("POST", "/v1/completions"), ("GET", "/v1/models")):
        t.ok(error_of(g.call(method, path, {} if method == "POST" else None)) == (503, "llm_not_configured"), "%s without an LLM server is 503" % path)
    t.ok(g.call("GET", "/ready")[0] == 200, "and it is ready")
    with Server(tasks={"enabled": "false"}, upstream="http://127.0.0.1:9") as off:
        t.ok(error_of(off.call("POST", "/v1/tasks", request())) == (503, "unavailable"), "tasks that are switched off are 503")


def check_full():
    with Server(tasks={"max_files_bytes": 100000}) as g:
        for how, send in (("JSON", lambda n: g.call("POST", "/v1/tasks", request(files={"a": bytes(n)}))),
                          ("form", lambda n: g.call("POST", "/v1/tasks", form(form_request(), part("files", bytes(n), "a")), FORM))):
            t.ok(error_of(send(200000)) == (507, "storage_full"), "%s: no room is 507" % how)
            status, _, data = send(50000)
            t.ok(status == 202, "%s: and less is taken" % how, data)
            g.end_of(json.loads(data)["taskId"])
            g.json("DELETE", "/v1/tasks/" + json.loads(data)["taskId"])
        t.check("no file is left", g.until("files", lambda: (not g.files(), g.files())))


def check_log(g):
    name = SECRET + ".csv"
    g.run("print('%s'); open('%s-out', 'w').write('%s'); raise SystemExit('%s')" % ((SECRET,) * 4), {name: SECRET.encode()})
    g.call("POST", "/v1/tasks", request(SECRET, {SECRET + "\n": b"x"}))
    g.call("POST", "/v1/tasks", form(form_request(SECRET), part("files", b"x", "../" + SECRET)), FORM)
    g.call("POST", "/v1/tasks", request(), {"Idempotency-Key": SECRET})
    g.call("GET", "/v1/tasks/" + SECRET)
    t.ok(SECRET not in g.log(), "the log has nothing of code, files, names, output and keys")


def main():
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with Server() as g:
        pulse = threading.Thread(target=check_pulse, args=(g,))
        check_alone(g)
        check_way(g)
        check_cancel(g)
        check_repeated(g)
        check_events(g)
        check_followers(g)
        pulse.start()
        check_download(g)
        check_list(g)
        check_log(g)
        pulse.join(gateway.PATIENCE)
        check_slow_readers(g)
        check_slow_senders(g)
        m = g.metrics()
        ended = {k: sum(v for name, v in m.items() if name.startswith("mayfly_%s_total" % k)) for k in ("tasks", "task_reasons")}
        t.ok(ended["tasks"] == ended["task_reasons"] > 10 and m['mayfly_task_reasons_total{reason="cancelled"}'] >= 4, "figures by status and by reason", m)
        bad = {k: v for k, v in m.items() if k.startswith("mayfly_http_requests_total") and 'status="500"' in k}
        t.ok(not bad, "no answer was a 500", bad)
        t.ok(g.stop() == 0, "the server ends well", g.log()[-2000:])
    check_queue()
    check_expiry()
    check_restart()
    check_full()
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
