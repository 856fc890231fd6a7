#!/usr/bin/env python3
"""The gateway over the wire, before a scripted model and without a sandbox: turns, the raw proxy, keys, errors, clients
that leave, what the log and the metrics tell."""
import json
import os
import re
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway as g  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

t = tap.Tap()
SECRET = "s3cret-words-of-a-person"

SCENARIOS = {
    "plain": g.PLAIN,
    "slow": {"loop": True, "rounds": [{"text": "a long answer " * 20, "split": "every 64 bytes", "delay_ms": 20}]},
    "hang": {"loop": True, "rounds": [{"text": "some words", "fault": "hang"}]},
    "busy": {"loop": True, "rounds": [{"status": 429, "headers": {"Retry-After": "7", "X-Request-Id": "up_1"},
                                       "body": {"error": {"message": "slow down", "type": "rate_limit"}}}]},
    "odd": {"loop": True, "rounds": [{"body": '{"not a response":1.50,  "spaces": true}', "headers": {"X-Odd": "yes"}}]},
    "gone": {"loop": True, "rounds": [{"fault": "refuse"}]},
}


def error_of(data):
    return json.loads(data)["error"]


def test_json_turn(s):
    problems = []
    status, headers, data = s.call("POST", "/v1/responses", {"model": "plain", "input": "hi"})
    r = json.loads(data)
    if status != 200 or headers["content-type"] != "application/json" or not headers["x-request-id"].startswith("req_"):
        problems.append("%s %s" % (status, headers))
    if r["output"][0]["content"][0]["text"] != "You said: hi":
        problems.append(r)
    status, _, again = s.call("GET", "/v1/responses/" + r["id"])
    if status != 200 or again != data:
        problems.append("retrieve: %s %s" % (status, again))
    status, headers, again = s.call("HEAD", "/v1/responses/" + r["id"])
    if (status, again, headers["content-length"]) != (200, b"", str(len(data))):
        problems.append("HEAD: %s %s" % (status, headers))
    return problems


def test_stream(s):
    status, headers, data = s.call("POST", "/v1/responses", {"model": "plain", "input": "hi", "stream": True})
    problems = g.broken(*g.events_of(data))
    want = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", "x-accel-buffering": "no"}
    if status != 200 or any(headers.get(k) != v for k, v in want.items()):
        problems.append("%s %s" % (status, headers))
    if not data.endswith(b"\n\ndata: [DONE]\n\n"):
        problems.append("the end is %r" % data[-40:])
    for frame in data.decode().split("\n\n")[:-2]:
        lines = frame.split("\n")
        if len(lines) != 2 or lines[0] != "event: " + json.loads(lines[1][6:])["type"]:
            problems.append("frame %r" % frame)
    return problems


def test_chain(s):
    """input_items: what the model was given, in pages."""
    first = s.respond(model="plain", input="one")[1]
    second = s.respond(model="plain", input="two", previous_response_id=first["id"])[1]
    path = "/v1/responses/%s/input_items" % second["id"]
    status, page = s.get(path + "?order=asc")
    texts = [i["content"][0]["text"] for i in page["data"]]
    problems = []
    if status != 200 or texts != ["one", "You said: one", "two"] or page["has_more"] is not False:
        problems.append(page)
    walked, after = [], ""
    for _ in range(5):
        status, page = s.get(path + "?order=asc&limit=1" + after)
        walked += [i["content"][0]["text"] for i in page["data"]]
        after = "&after=" + str(page["last_id"])
        if not page["has_more"]:
            break
    if walked != texts:
        problems.append("page by page: %s" % walked)
    if [i["id"] for i in s.get(path)[1]["data"]] != [i["id"] for i in s.get(path + "?order=asc")[1]["data"]][::-1]:
        problems.append("desc is not asc turned round")
    if s.get("/v1/responses/%s/input_items" % first["id"])[1]["data"][0]["content"][0]["text"] != "one":
        problems.append("the first's own")
    status, _, data = s.call("DELETE", "/v1/responses/" + first["id"])
    if (status, json.loads(data)) != (200, {"id": first["id"], "object": "response", "deleted": True}):
        problems.append("delete: %s %s" % (status, data))
    if s.get("/v1/responses/" + first["id"])[0] != 404 or len(s.get(path)[1]["data"]) != 3:
        problems.append("after the deletion")
    status, _, data = s.call("POST", "/v1/responses/%s/cancel" % second["id"])
    if status != 400 or "background" not in error_of(data)["message"]:
        problems.append("cancel: %s %s" % (status, data))
    return problems


def test_early_errors(s):
    """Also of a stream they are plain HTTP."""
    rows = [
        ({"model": "plain", "input": "hi", "previous_response_id": "resp_none"}, 404, "not_found"),
        ({"model": "plain", "input": "hi", "tools": [{"type": "nonsense"}]}, 400, "invalid_value"),
        ({"model": "plain"}, 400, "invalid_request_error"),
        ([], 400, "invalid_request_error"),
    ]
    problems = []
    for body, want, code in rows:
        for stream in (False, True):
            if isinstance(body, dict):
                body = dict(body, stream=stream)
            status, headers, data = s.call("POST", "/v1/responses", body)
            if status != want or headers["content-type"] != "application/json" or error_of(data)["code"] != code:
                problems.append("%s: %s %s" % (body, status, data))
    return problems


def test_raw_proxy(s, model):
    model.reset()
    body = b'{"model":"odd", "input":"hi","store":false,  "unknown": 1.50}'
    status, headers, data = s.call("POST", "/v1/responses", body, {"Content-Type": "application/json", "X-Mine": "1"})
    seen = model.requests()[-1]
    problems = []
    if (status, data, headers.get("x-odd")) != (200, b'{"not a response":1.50,  "spaces": true}', "yes"):
        problems.append("%s %s %s" % (status, headers, data))
    if seen["body"] != json.loads(body) or {k.lower(): v for k, v in seen["headers"]}.get("x-mine") != "1":
        problems.append("upstream saw %s" % seen)
    status, _, data = s.call("POST", "/v1/chat/completions", {"model": "plain", "messages": [{"role": "user", "content": "yo"}]})
    if status != 200 or json.loads(data)["choices"][0]["message"]["content"] != "yo":
        problems.append("chat: %s %s" % (status, data))
    status, headers, data = s.call("POST", "/v1/chat/completions",
                                   {"model": "plain", "stream": True, "messages": [{"role": "user", "content": "yo"}]})
    if status != 200 or headers.get("x-accel-buffering") != "no" or not data.endswith(b"data: [DONE]\n\n"):
        problems.append("chat, streamed: %s %s %s" % (status, headers, data))
    if s.get("/v1/models")[1]["object"] != "list":
        problems.append("models")
    for store in (True, False):
        status, _, data = s.call("POST", "/v1/responses", {"model": "gone", "input": "hi", "store": store})
        if status != 502:
            problems.append("gone, store %s: %s %s" % (store, status, data))
    return problems


def test_upstream_refuses(s):
    problems = []
    for store in (True, False):
        status, headers, data = s.call("POST", "/v1/responses", {"model": "busy", "input": "hi", "store": store})
        if status != 429 or headers.get("retry-after") != "7" or headers.get("x-request-id") != "up_1" or \
                not headers.get("x-mayfly-request-id", "").startswith("req_") or error_of(data)["message"] != "slow down":
            problems.append("store %s: %s %s %s" % (store, status, headers, data))
    return problems


def test_refused_by_the_server(s):
    """What never reaches a route has OpenAI's form, too."""
    rows = [(b"GET /health HTTP/1.1\r\n\r\n", b" 400 "),
            (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70000 + b"\r\n\r\n", b" 431 "),
            (g.post(b"x")[:-1].replace(b"Content-Length: 1", b"Content-Length: 11000000"), b" 413 "),
            (b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b" 400 ")]
    problems = []
    for request, status in rows:
        c = s.connect()
        c.sendall(request)
        data = b""
        while piece := c.recv(65536):
            data += piece
        c.close()
        head, _, body = data.partition(b"\r\n\r\n")
        if status not in head.split(b"\r\n")[0] + b" " or not error_of(body)["message"] or b"x-request-id: req_" not in head:
            problems.append("%r: %r" % (request[:60], data))
    refused = {k: v for k, v in s.metrics().items() if k.startswith("mayfly_http_refusals_total")}
    if refused != {'mayfly_http_refusals_total{status="%d"}' % n: 1 for n in (400, 413)} | {
            'mayfly_http_refusals_total{status="4xx"}': 1}:
        problems.append("counted: %s" % refused)
    return problems


def test_pipelined(s):
    c = s.connect()
    c.sendall((b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3) +
              b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    data = b""
    while piece := c.recv(65536):
        data += piece
    c.close()
    found = re.findall(rb"HTTP/1.1 (\d+)", data)
    ids = re.findall(rb"x-request-id: (\S+)", data)
    return [] if found == [b"200"] * 3 + [b"404"] and len(set(ids)) == 4 else ["%s %s" % (found, ids)]


def test_client_leaves(s):
    """The turn ends, and upstream's request with it."""
    before = s.metrics()
    problems = []
    for reset in (False, True):
        stream = g.RawStream(s, {"model": "hang", "input": "hi"})
        if not stream.read_until(b"some"):
            problems.append("no events: %r" % stream.data)
        stream.close(reset)
    for key, more in (('mayfly_turns_total{end="cancelled"}', 2), ("mayfly_http_answers_cut_total", 2)):
        problems += s.until(key, lambda k=key, n=more: ((now := s.metrics().get(k, 0)) == before.get(k, 0) + n, "%s" % now))
    problems += s.until("in flight", lambda: ((now := s.metrics()["mayfly_http_requests_in_flight"]) == 1, "%s" % now))
    return problems


def test_crowd(s):
    def one(i):
        if i % 2:
            status, events = s.respond(model="plain", input="hi %d" % i, stream=True)
            return status == 200 and not g.broken(events) and events[-1]["response"]["output"][0]["content"][0]["text"]
        status, r = s.respond(model="plain", input="hi %d" % i)
        return status == 200 and r["output"][0]["content"][0]["text"]
    results = g.crowd(60, one)
    return ["%d: %s" % (i, r) for i, r in enumerate(results) if r != "You said: hi %d" % i]


def test_nothing_is_told(s):
    """No content, path, id, key or query in the log or the metrics."""
    auth = {"Authorization": "Bearer " + SECRET}
    s.call("POST", "/v1/responses", {"model": "plain", "input": SECRET, "instructions": SECRET, "metadata": {"k": SECRET}}, auth)
    s.call("POST", "/v1/responses", {"model": SECRET, "input": "x"}, auth)
    s.call("POST", "/v1/responses", ('{"model": "%s"' % SECRET).encode(), auth)
    s.call("POST", "/v1/chat/completions?q=" + SECRET, {"model": SECRET}, auth)
    s.call("GET", "/v1/responses/%s?after=%s" % (SECRET, SECRET), headers=auth)
    s.call("DELETE", "/v1/responses/" + SECRET, headers=auth)
    s.call("GET", "/" + SECRET, headers=auth)
    s.call(SECRET, "/health", headers=auth)
    status, headers, data = s.call("GET", "/metrics")
    problems = ["the metrics tell"] if SECRET in data.decode() else []
    if SECRET in s.log():
        problems.append("the log tells: %s" % [x for x in s.log().splitlines() if SECRET in x])
    problems += s.until("the log names the request", lambda: ("request=" + headers["x-request-id"] in s.log(), "it does not"))
    for line in data.decode().splitlines():
        if not re.fullmatch(r'# (HELP|TYPE) mayfly_[a-z_]+ .+|mayfly_[a-z_]+(\{([a-z]+="[^"\\]*",?)+\})? [0-9.]+', line):
            problems.append("not Prometheus: %r" % line)
    families = re.findall(r"# TYPE (\S+)", data.decode())
    if len(families) != len(set(families)):
        problems.append("a family twice")
    return problems


def test_document(s):
    status, doc = s.get("/openapi.json")
    return [] if status == 200 and doc["openapi"] == "3.1.0" and "/v1/responses" in doc["paths"] else [status]


def test_keys(model):
    """A key of the gateway opens it and goes no further; upstream gets its own."""
    env = {"MAYFLY_API_KEYS": "gateway-key", "OPENAI_API_KEY": "upstream-key"}
    problems = []
    with g.Gateway(model, interpreter=False, env=env) as s:
        model.reset()
        body = {"model": "plain", "input": "hi"}
        for headers, code in (({}, "missing_bearer_token"), ({"Authorization": "Bearer x"}, "invalid_token"),
                              ({"Authorization": "Bearer upstream-key"}, "invalid_token")):
            status, h, data = s.call("POST", "/v1/responses", body, headers)
            if status != 401 or h.get("www-authenticate") != "Bearer" or error_of(data)["code"] != code:
                problems.append("%s: %s %s" % (headers, status, data))
        good = {"Authorization": "Bearer gateway-key"}
        for path, b in (("/v1/responses", body), ("/v1/responses", dict(body, store=False)),
                        ("/v1/chat/completions", {"model": "plain", "messages": []})):
            if s.call("POST", path, b, good)[0] != 200:
                problems.append("%s %s" % (path, b))
        seen = [{k.lower(): v for k, v in r["headers"]}.get("authorization") for r in model.requests()]
        if seen != ["Bearer upstream-key"] * 3 or "gateway-key" in json.dumps(model.requests()):
            problems.append("upstream saw %s" % seen)
        if s.call("GET", "/health")[0] != 200 or s.call("GET", "/v1/models")[0] != 401:
            problems.append("what is open")
    with g.Gateway(model, interpreter=False, env={"OPENAI_API_KEY": "upstream-key"}) as s:
        status, r = s.respond(**body)
        for headers, want in (({}, 401), ({"Authorization": "Bearer x"}, 401), ({"Authorization": "Bearer upstream-key"}, 200)):
            got = s.call("GET", "/v1/responses/" + r["id"], headers=headers)[0]
            if got != want:
                problems.append("retrieve with %s: %s" % (headers, got))
    return problems


def test_foreign_pages(s):
    """A page of another host cannot run code here through a person's browser."""
    problems = []
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        status, h, data = s.call("POST", "/v1/responses", {"model": "plain", "input": "hi"}, headers)
        if status != 403 or not error_of(data)["message"] or "access-control-allow-origin" in h:
            problems.append("%s: %s %s" % (headers, status, data))
    if s.call("GET", "/health", headers={"Host": "localhost:1", "Origin": "http://localhost:5173"})[0] != 200:
        problems.append("this machine's own")
    return problems


def test_graceful_stop(model):
    """A turn that runs is finished; nobody new is let in."""
    s = g.Gateway(model, interpreter=False)
    stream = g.RawStream(s, {"model": "slow", "input": "hi"})
    problems = [] if stream.read_until(b"output_text.delta") else ["no events"]
    code = []
    stopper = threading.Thread(target=lambda: code.append(s.stop()))
    stopper.start()
    problems += g.broken(*g.events_of(stream.read_all()))
    stopper.join()
    return problems + ([] if code == [0] else ["ended with %s" % code])


def main():
    places.need("mayfly")
    with g.Model(SCENARIOS) as model:
        with g.Gateway(model, interpreter=False) as s:
            for test in (test_json_turn, test_stream, test_chain, test_early_errors, test_upstream_refuses,
                         test_refused_by_the_server, test_pipelined, test_client_leaves, test_crowd, test_nothing_is_told,
                         test_document, test_foreign_pages):
                t.check(test.__name__, test(s))
            t.check("test_raw_proxy", test_raw_proxy(s, model))
        t.check("test_keys", test_keys(model))
        t.check("test_graceful_stop", test_graceful_stop(model))
    return t.done()


sys.exit(main())
