#!/usr/bin/env python3
"""What bad input gets from the task API: an error in OpenAI's form that names the place, nothing stored, no file left."""
import gzip
import json
import os
import sys
import unicodedata

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
from tasks import FORM, Server, coded, form, form_request, part, raw, request  # noqa: E402

MIB = 1 << 20
LIMIT = 20 * MIB
HOST_MB = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB
JSON = {"Content-Type": "application/json"}
UNKNOWN = "task_00000000-0000-7000-8000-000000000000"
t = tap.Tap()


def file(name, data=b"x"):
    return {"name": name, "content": coded(data)}


def without(key):
    body = request()
    del body[key]
    return body


# name, body (as JSON unless bytes), status, param, code
BODIES = [
    ("another language", request(language="javascript"), 400, "language", "invalid_value"),
    ("a language that is a number", request(language=5), 400, "language", "invalid_type"),
    ("no language", without("language"), 400, "language", "missing_required_parameter"),
    ("no code", without("code"), 400, "code", "missing_required_parameter"),
    ("code that is a number", request(code=5), 400, "code", "invalid_type"),
    ("code over 1 MiB", request("#" * (MIB + 1)), 400, "code", "string_above_max_length"),
    ("code with NUL", request("print('\0')"), 400, "code", "invalid_value"),
    ("an unknown member", request(codes="x"), 400, "codes", "unknown_parameter"),
    ("an unknown limit", request(limits={"timeout": 1}), 400, "limits.timeout", "unknown_parameter"),
    ("an unknown policy", request(policy={"disk": "none"}), 400, "policy.disk", "unknown_parameter"),
    ("an unknown member of a file", request(files={}) | {"files": [dict(file("a"), mode=5)]}, 400, "files[0].mode",
     "unknown_parameter"),
    ("limits that are a list", request(limits=[]), 400, "limits", "invalid_type"),
    ("a policy that is a text", request(policy="strict"), 400, "policy", "invalid_type"),
    ("files that are an object", request() | {"files": {"a": "eA=="}}, 400, "files", "invalid_type"),
    ("a file that is a text", request() | {"files": ["a"]}, 400, "files[0]", "invalid_type"),
    ("a name that is a number", request() | {"files": [{"name": 1, "content": ""}]}, 400, "files[0].name", "invalid_type"),
    ("a file without content", request() | {"files": [file("a"), {"name": "b"}]}, 400, "files[1].content",
     "missing_required_parameter"),
    ("display_last_expression as a text", request(display_last_expression="yes"), 400, "display_last_expression",
     "invalid_type"),
    ("timeoutMs 0", request(limits={"timeoutMs": 0}), 400, "limits.timeoutMs", "integer_below_min_value"),
    ("timeoutMs -1", request(limits={"timeoutMs": -1}), 400, "limits.timeoutMs", "integer_below_min_value"),
    ("timeoutMs 60001", request(limits={"timeoutMs": 60001}), 400, "limits.timeoutMs", "integer_above_max_value"),
    ("timeoutMs 1e9", b'{"language":"python","code":"1","limits":{"timeoutMs":1e9}}', 400, "limits.timeoutMs",
     "integer_above_max_value"),
    ("timeoutMs \"5\"", request(limits={"timeoutMs": "5"}), 400, "limits.timeoutMs", "invalid_type"),
    ("timeoutMs 1.5", request(limits={"timeoutMs": 1.5}), 400, "limits.timeoutMs", "invalid_type"),
    ("memory below what Python needs", request(limits={"memoryMb": 63}), 400, "limits.memoryMb", "integer_below_min_value"),
    ("memory above the machine's", request(limits={"memoryMb": HOST_MB + 1}), 400, "limits.memoryMb", "integer_above_max_value"),
    ("memory above any machine's", request(limits={"memoryMb": 16 * 1024 * 1024}), 400, "limits.memoryMb",
     "integer_above_max_value"),
    ("memory as a text", request(limits={"memoryMb": "64"}), 400, "limits.memoryMb", "invalid_type"),
    ("network enabled", request(policy={"network": "enabled"}), 400, "policy.network", "invalid_value"),
    ("other packages", request(policy={"packages": "all"}), 400, "policy.packages", "invalid_value"),
    ("base64 of other letters", request() | {"files": [file("a"), {"name": "b", "content": "!!!!"}]}, 400,
     "files[1].content", "invalid_base64"),
    ("base64 without padding", request() | {"files": [{"name": "b", "content": "eA"}]}, 400, "files[0].content", "invalid_base64"),
    ("base64 with a line break", request() | {"files": [{"name": "b", "content": "eHh4\neHh4"}]}, 400, "files[0].content",
     "invalid_base64"),
    ("base64 for addresses", request() | {"files": [{"name": "b", "content": "_-_-"}]}, 400, "files[0].content", "invalid_base64"),
    ("long base64 with padding inside", request() | {"files": [{"name": "b", "content": "eA==" * MIB}]}, 400, "files[0].content",
     "invalid_base64"),
    ("two files of one name", request() | {"files": [file("a"), file("b"), file("a")]}, 400, "files[2].name", "duplicate_name"),
    ("two names that look the same", request() | {"files": [file(unicodedata.normalize(f, "é.csv")) for f in ("NFC", "NFD")]},
     400, "files", "duplicate_name"),
    ("10,000 files", request() | {"files": [file("f%d" % i) for i in range(10000)]}, 400, "files", "array_above_max_length"),
    ("257 files", request() | {"files": [file("f%d" % i) for i in range(257)]}, 400, "files", "array_above_max_length"),
    ("20 MiB and a byte", request(files={"a": bytes(LIMIT + 1)}), 413, "files[0].content", "file_too_large"),
    ("20 MiB and a byte in two files", request(files={"a": bytes(LIMIT), "b": b"x"}), 413, "files[1].content", "file_too_large"),
    ("no JSON", b'{"language":', 400, None, "invalid_json"),
    ("nothing", b"", 400, None, "invalid_json"),
    ("a list", b"[]", 400, None, "invalid_type"),
    ("a key twice", b'{"language":"python","language":"python","code":""}', 400, None, "invalid_json"),
    ("bytes that are no UTF-8", b'{"language":"python","code":"\xff"}', 400, None, "invalid_json"),
    ("very deep", b'{"language":"python","code":' + b"[" * 5000 + b"]" * 5000 + b"}", 400, None, "invalid_json"),
] + [("a file called %r" % name[:20], request() | {"files": [file(name)]}, 400, "files[0].name", "invalid_value")
     for name in ("", ".", "..", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "a/.", "x" * 256, "/".join("x" * 17),
                  "a\0b", "a\nb", "a\x7fb", "y" * 255 + "/" + "z" * 1000)]

REQUEST = form_request()
# name, parts, end?, status, param, code
FORMS = [
    ("without its end", [REQUEST], False, 400, None, "invalid_multipart"),
    ("a file without its end", [REQUEST, part("files", b"x" * 100000, "a")], False, 400, None, "invalid_multipart"),
    ("no request", [], True, 400, "request", "missing_required_parameter"),
    ("a file before the request", [part("files", b"x", "a"), REQUEST], True, 400, "request", "missing_required_parameter"),
    ("two requests", [REQUEST, REQUEST], True, 400, "request", "invalid_value"),
    ("a request after a file", [REQUEST, part("files", b"x", "a"), REQUEST], True, 400, "request", "invalid_value"),
    ("a request of another type", [part("request", b"{}", content_type="text/plain")], True, 400, "request", "invalid_value"),
    ("a request in another charset", [part("request", b"{}", content_type="application/json; charset=utf-16")], True, 400,
     "request", "invalid_value"),
    ("a request that is wrong", [form_request(limits={"timeoutMs": 0}), part("files", b"x", "a")], True, 400, "limits.timeoutMs",
     "integer_below_min_value"),
    ("a request over 8 MiB", [part("request", b" " * (8 * MIB + 1))], True, 413, "request", "request_too_large"),
    ("a request with files", [form_request(files={"a": b"x"})], True, 400, "files", "invalid_value"),
    ("an unknown part", [REQUEST, part("file", b"x", "a")], True, 400, "file", "unknown_parameter"),
    ("a file without a name", [REQUEST, part("files", b"x")], True, 400, "files[0].name", "missing_required_parameter"),
    ("a file with an empty name", [REQUEST, part("files", b"x", "")], True, 400, "files[0].name", "invalid_value"),
    ("a file called ../x", [REQUEST, part("files", b"x", "ok"), part("files", b"x", "../x")], True, 400, "files[1].name", "invalid_value"),
    ("a name with a line break", [REQUEST, part("files", b"x", "a%0Ab")], True, 400, "files[0].name", "invalid_value"),
    ("a name twice", [REQUEST, part("files", b"x", "a"), part("files", b"y", "a")], True, 400, "files[1].name", "duplicate_name"),
    ("base64", [REQUEST, part("files", b"eA==", "a", more="\r\nContent-Transfer-Encoding: base64")], True, 400, None, "invalid_multipart"),
    ("a form in a form", [REQUEST, part("files", b"x", "a", "multipart/mixed; boundary=x")], True, 400, None, "invalid_multipart"),
    ("a name that is no UTF-8", [REQUEST, part("files", b"x", "@").replace(b"@", b"\xff")], True, 400, None, "invalid_multipart"),
    ("a head of 9 KiB", [REQUEST, part("files", b"x", "a", more="\r\nX: " + "x" * 9000)], True, 413, None, "body_too_large"),
    ("10,000 files", [REQUEST] + [part("files", b"x", "f%d" % i) for i in range(10000)], True, 400, "files", "array_above_max_length"),
    ("20 MiB and a byte", [REQUEST, part("files", bytes(LIMIT + 1), "a")], True, 413, "files[0].content", "file_too_large"),
    ("20 MiB and a byte in two files", [REQUEST, part("files", bytes(LIMIT - 1), "a"), part("files", b"xy", "b")], True, 413,
     "files[1].content", "file_too_large"),
]

TYPES = [
    ("no type", {"Content-Type": ""}, 415, "Content-Type", "unsupported_media_type"),
    ("text", {"Content-Type": "text/plain"}, 415, "Content-Type", "unsupported_media_type"),
    ("a form of an address", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "Content-Type", "unsupported_media_type"),
    ("another charset", {"Content-Type": "application/json; charset=latin1"}, 415, "Content-Type", "unsupported_media_type"),
    ("another form", {"Content-Type": "multipart/mixed; boundary=x"}, 415, "Content-Type", "unsupported_media_type"),
    ("a form without a boundary", {"Content-Type": "multipart/form-data"}, 400, None, "invalid_multipart"),
    ("a boundary of 71", {"Content-Type": "multipart/form-data; boundary=" + "x" * 71}, 400, None, "invalid_multipart"),
    ("a coding", {**JSON, "Content-Encoding": "gzip"}, 415, "Content-Encoding", "unsupported_media_type"),
    ("an empty key", {**JSON, "Idempotency-Key": ""}, 400, "Idempotency-Key", "invalid_value"),
    ("a key of 256", {**JSON, "Idempotency-Key": "k" * 256}, 400, "Idempotency-Key", "invalid_value"),
    ("a key with other characters", {**JSON, "Idempotency-Key": "cl\xe9"}, 400, "Idempotency-Key", "invalid_value"),
]


def judge(answer, status, param, code):
    """What is wrong with an answer that should be this error."""
    got, headers, data = answer
    try:
        error = json.loads(data)["error"]
        found = (got, error["param"], error["code"])
        whole = set(error) == {"message", "type", "param", "code"} and error["message"] and headers["content-type"] == "application/json"
    except (ValueError, KeyError) as e:
        return ["%d, not an error: %s %s" % (got, e, data[:300])]
    return [] if found == (status, param, code) and whole else ["expected %s, got %s: %s" % ((status, param, code), found, error)]


def check_bodies(g):
    for name, body, status, param, code in BODIES:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        t.check("JSON: " + name, judge(g.call("POST", "/v1/tasks", data, JSON), status, param, code))
    for name, parts, end, status, param, code in FORMS:
        t.check("form: " + name, judge(g.call("POST", "/v1/tasks", form(*parts, end=end), FORM), status, param, code))
    for name, headers, status, param, code in TYPES:
        data = gzip.compress(b"{}") if "Content-Encoding" in headers else json.dumps(request()).encode()
        t.check("head: " + name, judge(g.call("POST", "/v1/tasks", data, headers), status, param, code))


def check_large(g):
    """Refused by its length, before it is sent; in pieces, when there are too many."""
    head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n"
    for kind in ("application/json", FORM["Content-Type"]):
        answer = raw(g, head % ("Content-Type: %s\r\nContent-Length: 1000000000\r\n" % kind), then="head")
        t.ok(b" 413 " in answer.split(b"\r\n")[0], "1 GB of %s is refused before it is sent" % kind.split(";")[0], answer[:300])
    chunk = b"100000\r\n" + b" " * MIB + b"\r\n"
    answer = raw(g, head % "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", *[chunk] * 40)
    t.ok(b" 413 " in answer.split(b"\r\n")[0], "40 MiB in chunks are refused", answer[:300])
    answer = raw(g, head % "Content-Type: application/json\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 2\r\n",
                 b"{}")
    t.ok(b" 400 " in answer.split(b"\r\n")[0] and b"Idempotency-Key" in answer, "two idempotency keys are refused", answer[:300])


def check_left(g):
    """Clients that leave in the middle of an upload."""
    body = form(REQUEST, part("files", bytes(MIB), "a"))
    for n in (10, len(REQUEST) + 20, len(body) // 2, len(body) - 5):
        raw(g, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" %
            (FORM["Content-Type"], len(body)), body[:n], then="half-close")
    t.check("clients that leave in an upload leave no file", g.until("files", lambda: (not g.files(), g.files())))


def check_ids(g):
    calls = [("GET", ""), ("GET", "?wait=0"), ("POST", "/cancel"), ("GET", "/events"), ("DELETE", ""), ("GET", "/artifacts/x"),
             ("GET", "/artifacts/..%2f..%2fmayfly.db")]
    ids = [UNKNOWN, "task_", "x", "%2e%2e", "..%2f..%2fetc%2fpasswd", "'%20OR%201=1--", UNKNOWN.upper(), "%F0%9F%98%80"]
    problems = []
    for task_id in ids:
        for method, rest in calls:
            problems += judge(g.call(method, "/v1/tasks/" + task_id + rest), 404, None, "not_found")
    t.check("unknown ids are 404, whatever they look like", problems)
    problems = []
    for path in ("/v1/tasks/a%00b", "/v1/tasks/%ff", "/v1/tasks/%zz", "/v1/tasks/" + "x" * 257, "/v1/tasks/x/artifacts/%00"):
        problems += judge(g.call("GET", path), 400, None, "invalid_value")
    t.check("ids that are none are 400", problems)
    status, headers, _ = g.call("PUT", "/v1/tasks/x")
    t.ok(status == 405 and headers["allow"] == "GET, HEAD, DELETE, OPTIONS", "another method is 405", headers)


def check_queries(g):
    problems = []
    for value in ("-1", "61", "60.1", "abc", "1e1", "", "1.", ".5", "%00", "0x1", "60.000000001", "1.0000000001", "+1"):
        problems += judge(g.call("GET", "/v1/tasks/%s?wait=%s" % (UNKNOWN, value)), 400, "wait", "invalid_value")
    for key, values in {"limit": ("0", "101", "x", "1.5", "", "-1"), "status": ("done", "", "QUEUED"), "after": ("%00", "x" * 257)}.items():
        for value in values:
            problems += judge(g.call("GET", "/v1/tasks?%s=%s" % (key, value)), 400, key, "invalid_value")
    problems += judge(g.call("GET", "/v1/tasks?after=" + UNKNOWN), 404, "after", "not_found")
    for value in ("1", "a.b.c.d", "1.2.3.4.5", "1.2.3.-4", "9" * 300):
        problems += judge(g.call("GET", "/v1/tasks/%s/events?after=%s" % (UNKNOWN, value)), 400, "after", "invalid_value")
        problems += judge(g.call("GET", "/v1/tasks/%s/events" % UNKNOWN, None, {"Last-Event-ID": value}), 400, "Last-Event-ID", "invalid_value")
    t.check("parameters that are wrong are named", problems)


def check_fine(g):
    """What is only just right, and looks odd."""
    look = "import os,hashlib\nfor w, _, n in sorted(os.walk('.')):\n  for f in sorted(n): print(os.path.getsize(os.path.join(w, f)))"
    task = g.run(look, {"whole.bin": os.urandom(LIMIT)})
    t.ok(task["stdout"] == "%d\n" % LIMIT, "JSON: exactly 20 MiB are taken", task)
    task = g.end_of(g.upload(form_request(look), part("files", bytes(LIMIT - 3), "a"), part("files", b"\r\n-", "b"))["taskId"])
    t.ok(task["stdout"] == "%d\n3\n" % (LIMIT - 3), "form: exactly 20 MiB are taken", task["stdout"])
    task = g.run("print(open('empty.csv').read() == '')", {"empty.csv": b""})
    t.ok(task["stdout"] == "True\n" and task["inputs"][0]["sizeBytes"] == 0, "a file of 0 bytes", task)
    task = g.run("#" * MIB + "")
    t.ok(task["status"] == "succeeded" and task["exitCode"] == 0, "code of 1 MiB", task["status"])
    task = g.run("", limits={"timeoutMs": 60000, "memoryMb": 64}, policy={"network": "disabled", "packages": "base"})
    t.ok(task["status"] == "succeeded", "no code, the limits' edges", task)
    task = g.run("print(sum(len(open(n).read()) for n in __import__('os').listdir('.')))", {"f%d" % i: b"x" for i in range(256)})
    t.ok(task["stdout"] == "256\n", "256 files", task["stdout"])
    task = g.run("open('a', 'w').write('x')")
    artifact, problems = task["artifacts"][0], []
    for name in ("..%2f..%2f..%2fmayfly.db", "%2e%2e", "a", artifact["sha256"], "..%2f" + artifact["artifactId"]):
        problems += judge(g.call("GET", "/v1/tasks/%s/artifacts/%s" % (task["taskId"], name)), 404, None, "not_found")
    if g.artifact(artifact)[::2] != (200, b"x"):
        problems.append("the artifact is not there by its own id")
    t.check("a task's artifacts are there by their ids only", problems)


def check_memory():
    """The operator's bound is the largest amount, and the default where that is more."""
    with Server({"max_memory_mb": 256}) as g:
        status, _, body = g.json("POST", "/v1/tasks", request(limits={"memoryMb": 257}))
        t.ok((status, body["error"]["param"], body["error"]["code"]) == (400, "limits.memoryMb", "integer_above_max_value"),
             "memory above tasks.max_memory_mb", body)
        task = g.run("print(1)")
        t.ok(task["receipt"]["limits"]["memoryBytes"] == 256 * MIB, "a task that asks for none has what there is", task["receipt"])


def main():
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with Server() as g:
        check_bodies(g)
        check_large(g)
        check_left(g)
        check_ids(g)
        check_queries(g)
        t.ok(g.count() == 0, "nothing was stored", list(g.all_tasks())[:3])
        t.ok(not g.files(), "no file is left", g.files()[:5])
        m = g.metrics()
        t.ok(m["mayfly_tasks_submitted_total"] == 0 and m["mayfly_task_files_bytes"] == 0, "the figures say the same", m)
        bad = {k: v for k, v in m.items() if k.startswith("mayfly_http_requests_total") and 'status="5' in k}
        t.ok(not bad, "no answer was a 5xx", bad)
        check_fine(g)
        t.ok(g.stop() == 0, "the server ends well", g.log()[-2000:])
    check_memory()
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
