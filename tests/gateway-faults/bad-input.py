#!/usr/bin/env python3
"""What bad input gets: each request that cannot be served is refused in the words of the contract before anything goes
upstream, whatever a model makes of a call never fails the response, and the server is there afterwards."""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402

t = tap.Tap()
BODY_MAX = 1 << 20
REQUEST = "invalid_request_error"
TOOL = gateway.TOOL
HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
GOOD = b'{"model":"plain","input":"x"}'


def call_with(arguments, name="code_interpreter"):
    return {"pick": "turn", "loop": True, "rounds": [{"calls": [{"name": name, "arguments": arguments}]}, {"text": "{{last_tool_output}}"}]}


# name: (arguments of the call, what the model is told)
MODEL_FAULTS = {
    "not JSON": ("{\"code\": ", "code_interpreter arguments must be valid JSON"),
    "empty": ("", "code_interpreter arguments must be valid JSON"),
    "lone surrogate": ("{\"code\":\"\\ud800\"}", "code_interpreter arguments must be valid JSON"),
    "no code": ("{}", "code_interpreter arguments must contain exactly one string field 'code'"),
    "code is a number": ("{\"code\": 1}", "code_interpreter arguments must contain exactly one string field 'code'"),
    "extra member": ("{\"code\":\"print(1)\",\"x\":1}", "code_interpreter arguments must contain exactly one string field 'code'"),
    "code twice": ("{\"code\":\"print(1)\",\"code\":\"print(2)\"}", "code_interpreter arguments must contain exactly one string field 'code'"),
    "a string": ("\"print(1)\"", "code_interpreter arguments must contain exactly one string field 'code'"),
    "70,000 bytes": (json.dumps({"code": "#" * 70000}), "code_interpreter source is 70000 bytes, exceeding the 65536-byte limit"),
    "deep": ("{\"code\":" + "[" * 100000 + "]" * 100000 + "}", None),
}


def message(part):
    return {"model": "plain", "input": [{"type": "message", "role": "user", "content": part}]}


def bodies(stored, pending, call_id):
    """(what, body, status, type, code, words in the message): contract §5, §1 of the interpreter."""
    tool = lambda *tools, **more: dict({"model": "plain", "input": "x", "tools": list(tools)}, **more)
    bad = lambda what, body, words="", code=REQUEST, status=400, kind=REQUEST: (what, body, status, kind, code, words)
    function = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
    output = {"type": "function_call_output", "call_id": call_id, "output": "x"}
    yield bad("no JSON", b"{nope", "json error: ")
    yield bad("nothing", b"", "json error: ")
    yield bad("an array", b"[]", "json error: ")
    yield bad("bytes after the end", GOOD + b"x", "json error: ")
    yield bad("invalid UTF-8", b'{"model":"plain","input":"\xff\xfe"}', "json error: ")
    yield bad("an overlong character", b'{"model":"plain","input":"\xc0\xaf"}', "json error: ")
    yield bad("a lone surrogate", b'{"model":"plain","input":"\\ud800"}', "json error: ")
    yield bad("a key twice", b'{"model":"plain","input":"x","input":"y"}', "json error: ")
    yield bad("500,000-deep arrays", b'{"model":"plain","input":' + b"[" * 500000 + b"]" * 500000 + b"}", "json error: ")
    yield bad("500,000 open arrays", b"[" * 500000, "json error: ")
    yield bad("deep objects", b'{"a":' * 150000 + b"1" + b"}" * 150000, "json error: ")
    yield bad("deep metadata", dict(message("x"), metadata=json.loads("[" * 900 + "]" * 900)), "")
    yield bad("no model", {"input": "x"}, "json error: ")
    yield bad("a model that is a number", {"model": 1, "input": "x"}, "json error: ")
    yield bad("no input", {"model": "plain"}, "")
    yield bad("an input that is a number", {"model": "plain", "input": 1}, "json error: ")
    yield bad("an item that is a number", {"model": "plain", "input": [1]}, "json error: ")
    yield bad("stream that is a text", dict(message("x"), stream="yes"), "json error: ")
    yield bad("tools that are no list", {"model": "plain", "input": "x", "tools": {}}, "json error: ")
    yield bad("a file", message([{"type": "input_file", "file_id": "file_1"}]), "invalid request: input[0].content[0]")
    yield bad("an unknown part", message([{"type": "input_smell"}]), "invalid request: input[0].content[0]")
    yield bad("no part", message([]), "invalid request: input[0]")
    yield bad("both continuations", {"model": "plain", "input": "x", "conversation": "conv_1", "previous_response_id": stored}, "invalid request: ")
    yield bad("a conversation that is a number", {"model": "plain", "input": "x", "conversation": 7}, "json error: ")
    yield bad("an unknown response", {"model": "plain", "input": "x", "previous_response_id": "resp_none"},
              "storage error: not found: Response with id 'resp_none'", "not_found", 404, "not_found")
    yield bad("a missing output", {"model": "plain", "input": "x", "previous_response_id": pending}, "No tool output found for function call", None)
    yield bad("an output of nothing", {"model": "plain", "input": [dict(output, call_id="call_no")], "previous_response_id": pending},
              "without a pending call")
    yield bad("an output twice", {"model": "plain", "input": [output, output], "previous_response_id": pending}, "")
    for what, container in (("no container", {}), ("a container's id", {"container": "cntr_1"}), ("a null container", {"container": None}),
                            ("an empty container", {"container": {}}), ("another type of container", {"container": {"type": "explicit"}}),
                            ("files in the container", {"container": {"type": "auto", "file_ids": []}}),
                            ("a memory limit", {"container": {"type": "auto", "memory_limit": "1g"}}),
                            ("an extra member", {"container": {"type": "auto"}, "execution": "x"})):
        for stream in (False, True):
            yield bad("code_interpreter with %s%s" % (what, ", streamed" if stream else ""),
                      tool(dict({"type": "code_interpreter"}, **container), stream=stream, store=not stream), "json error: ")
    yield bad("code_interpreter twice", tool(TOOL, TOOL), "tool error: invalid tool config: code_interpreter may be declared only once")
    yield bad("a function of its name", tool(TOOL, dict(function, name="code_interpreter")),
              "tool error: invalid tool config: fixed model-visible tool name 'code_interpreter' conflicts with another declaration")
    yield bad("a function twice", tool(function, function), "tool error: invalid tool config: function tool registry name 'f' conflicts")
    yield bad("an unknown choice", tool(function, tool_choice={"type": "nonsense"}), "")
    for value, code in ((0, "integer_below_min_value"), (-1, "integer_below_min_value"), ("many", "invalid_type"), (1.5, "invalid_type")):
        yield bad("max_tool_calls %r" % value, tool(TOOL, max_tool_calls=value), "", code)


def refuse(g, model):
    stored = g.respond(model="plain", input="x")[1]["id"]
    waiting = g.respond(model="weather", input="x", tools=[{"type": "function", "name": "get_weather", "parameters": {}}])[1]
    call_id = waiting["output"][0]["call_id"]
    before = len(model.requests())
    for what, body, status, kind, code, words in bodies(stored, waiting["id"], call_id):
        got, headers, data = g.call("POST", "/v1/responses", body)
        problems = []
        try:
            error = json.loads(data)["error"]
        except (ValueError, KeyError, TypeError):
            error = {}
        if (got, error.get("type"), error.get("code")) != (status, kind, code) or words not in error.get("message", ""):
            problems.append("%d %r" % (got, data[:600]))
        if not headers.get("content-type", "").startswith("application/json"):
            problems.append("content type %s" % headers.get("content-type"))
        t.check("refused: " + what, problems)
    t.ok(len(model.requests()) == before, "nothing of that went upstream", len(model.requests()) - before)
    kind = {"type": "file_search", "vector_store_ids": ["vs_1"]}
    status, r = g.respond(model="plain", input="x", tools=[kind])
    t.ok(status == 400 and r["error"]["param"] == "tools[0].type", "refused: a tool that cannot be served, with its place", r)


def accepted(g, model):
    """What looks odd and is right."""
    big = "123456789012345678901234567890"
    schema = '{"type":"object","properties":{"n":{"type":"integer","maximum":%s,"multipleOf":1.00000000000000000000001}}}' % big
    body = ('{"model":"plain","input":"x","tools":[{"type":"function","name":"f","parameters":%s}]}' % schema).encode()
    status, _, data = g.call("POST", "/v1/responses", body)
    t.ok(status == 200, "numbers beyond 64 bits", data)
    raw = model.call("GET", "/_scenario/requests")[2].decode()
    t.ok(big in raw and "1.00000000000000000000001" in raw, "go upstream as they were written", raw[-800:])
    status, r = g.respond(model="plain", input="\U0001f600 \u0000 \u2028 \ue000")
    t.ok(status == 200 and r["output"][0]["content"][0]["text"] == "You said: \U0001f600 \u0000 \u2028 \ue000", "any character, NUL too", r)
    status, r = g.respond(model="plain", input="x", unknown_field={"a": [1]}, user="me", safety_identifier=None)
    t.ok(status == 200, "unknown fields are ignored", r)
    text = "y" * (BODY_MAX - 200)
    status, r = g.respond(model="plain", input=text)
    t.ok(status == 200 and r["output"][0]["content"][0]["text"].endswith(text[-100:]), "a body just below the limit", str(r)[:300])


def model_faults(g):
    for what, (arguments, words) in MODEL_FAULTS.items():
        for stream in (False, True):
            status, got = g.respond(model="fault " + what, input="go", tools=[TOOL], stream=stream)
            problems = gateway.broken(got) if stream and status == 200 else []
            r = got[-1].get("response", {}) if stream and status == 200 else got
            if status != 200 or r.get("status") != "completed":
                t.check("a model's call: %s" % what, problems + ["%s %s" % (status, str(r)[:800])])
                continue
            item = r["output"][0]
            if (item["type"], item["status"], item["code"], item["outputs"]) != (
                    "code_interpreter_call", "failed", "", [{"type": "logs", "logs": "Code execution failed."}]):
                problems.append("the item: %s" % str(item)[:500])
            told = r["output"][1]["content"][0]["text"]
            if words and json.loads(told) != {"error": words}:
                problems.append("the model was told %s" % told)
            t.check("a model's call: %s%s" % (what, ", streamed" if stream else ""), problems)
    for name in ("no_such_tool", ""):
        status, r = g.respond(model="undeclared %s" % name, input="go", tools=[TOOL])
        t.ok(status == 200 and r["status"] == "completed", "a model's call of %r, which nobody declared" % name, r)


def parent_deleted(g):
    """While a response is made, the one that it goes on from is deleted."""
    for stream in (False, True):
        parent = g.respond(model="plain", input="x")[1]["id"]
        body = {"model": "run", "input": "import time\ntime.sleep(2)", "tools": [TOOL], "previous_response_id": parent, "stream": stream}
        with g.connect() as s:
            s.sendall(gateway.post(body, headers="Connection: close\r\n"))
            problems = g.until("the program runs", lambda: (g.metrics()["mayfly_executor_permits_busy"] > 0, "nothing runs"))
            deleted = g.call("DELETE", "/v1/responses/" + parent)[0]
            got = b""
            while piece := s.recv(65536):
                got += piece
        words = b"storage error: not found: Response with id '%s'" % parent.encode()
        if deleted != 200 or words not in got or not got.startswith(b"HTTP/1.1 200 " if stream else b"HTTP/1.1 404 "):
            problems.append("deleted: %d; %r" % (deleted, got[-1000:]))
        if b"response.completed" in got:
            problems.append("it counts as completed: %r" % got[-1000:])
        t.check("its parent is deleted meanwhile%s" % (", streamed" if stream else ""), problems)


def exchange(g, data, wait=True):
    """What comes for raw bytes until the server closes: (status or None, all of it, it was closed)."""
    with g.connect() as s:
        s.settimeout(20)
        got = b""
        try:
            s.sendall(data)
            while True:
                piece = s.recv(65536)
                if not piece:
                    return (int(got[9:12]) if got else None), got, True
                got += piece
                if not wait and b"\r\n\r\n" in got:
                    return int(got[9:12]), got, False
        except TimeoutError:
            return (int(got[9:12]) if got else None), got, False
        except ConnectionError:
            return (int(got[9:12]) if got else None), got, True


def smuggling(g, model):
    inner = b"GET /v1/responses/resp_smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    length = b"Content-Length: %d\r\n" % len(GOOD)
    cases = {
        "length and chunks": HEAD + length + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
        "two lengths": HEAD + length + b"Content-Length: 0\r\n\r\n" + GOOD + inner,
        "the same length twice": HEAD + length + length + b"\r\n" + GOOD,
        "a list of lengths": HEAD + b"Content-Length: 5, 5\r\n\r\n12345",
        "a signed length": HEAD + b"Content-Length: +5\r\n\r\n12345",
        "an unknown coding": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
        "two codings": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + inner,
        "a bad chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
        "a chunk that is longer than it says": HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
        "space before the colon": HEAD + b"Content-Length : 5\r\n\r\n12345",
        "a folded line": HEAD + b"X: a\r\n b\r\n" + length + b"\r\n" + GOOD,
        "bare line feeds": HEAD.replace(b"\r\n", b"\n") + length.replace(b"\r\n", b"\n") + b"\n" + GOOD,
        "a NUL": HEAD + b"X: a\0b\r\n" + length + b"\r\n" + GOOD,
        "no host": b"POST /v1/responses HTTP/1.1\r\n" + length + b"\r\n" + GOOD,
        "two hosts": HEAD + b"Host: 127.0.0.1\r\n" + length + b"\r\n" + GOOD,
        "nonsense": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20 + b"\r\n\r\n",
    }
    before = len(model.requests())
    for what, data in cases.items():
        status, got, closed = exchange(g, data)
        t.ok(status in (400, 505) and closed and got.count(b"HTTP/1.1 ") == 1, "malformed HTTP: %s" % what, "%s %r closed: %s" % (status, got[:300], closed))
    t.ok(len(model.requests()) == before, "nothing of that went upstream")
    status, got, closed = exchange(g, HEAD + b"X: " + b"y" * 70000 + b"\r\n\r\n")
    t.ok(status == 431 and closed, "a head of 70,000 bytes", got[:200])
    status, got, closed = exchange(g, gateway.post(b'{"model":"plain","input":"%s"}' % (b"y" * 3 * BODY_MAX)))
    t.ok(status == 413 and closed and b"body_too_large" in got, "a body over the limit: 413, closed cleanly", status, got[:300])
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"y" * 65536 + b"\r\n") * 40 + b"0\r\n\r\n"
    status, got, closed = exchange(g, chunked)
    t.ok(status == 413 and closed, "in chunks, too", status, got[:300])


def routes(g):
    for method, path, allow in (("PUT", "/v1/responses", "POST"), ("DELETE", "/v1/responses", "POST"), ("POST", "/v1/responses/resp_x", "GET"),
                                ("POST", "/health", "GET"), ("PATCH", "/v1/models", "GET"), ("GET", "/v1/chat/completions", "POST")):
        status, headers, data = g.call(method, path, b"{}" if method in ("PUT", "POST", "PATCH") else None)
        t.ok(status == 405 and allow in headers.get("allow", ""), "%s %s: 405, with what is allowed" % (method, path), status, headers)
    for path in ("/", "/v1", "/v1/nothing", "/v1/responses/", "/v1/responses/a/b/c", "/v2/responses", "/v1/%72esponses/x/y"):
        status, _, data = g.call("GET", path)
        error = json.loads(data)["error"] if data.startswith(b"{") else {}
        t.ok(status == 404 and {"message", "type", "code"} <= set(error), "GET %s: 404 in the usual shape" % path, status, data)
    for name in ("resp_none", "..", "%00", "%ff", "x" * 5000, "resp_%27%20OR%201=1"):
        status, _, data = g.call("GET", "/v1/responses/" + name)
        t.ok(status in (400, 404), "GET /v1/responses/%s…" % name[:12], status, data)
    for query in ("limit=0", "limit=101", "limit=x", "limit=99999999999999999999", "order=up", "after=item_none"):
        rid = g.respond(model="plain", input="x")[1]["id"]
        status, _, data = g.call("GET", "/v1/responses/%s/input_items?%s" % (rid, query))
        t.ok(status in (400, 404) and b"error" in data, "input_items?%s" % query, status, data)
    for header in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        status, _, data = g.call("POST", "/v1/responses", GOOD, dict(header, **{"Content-Type": "application/json"}))
        t.ok(status in (400, 403), "a page of elsewhere, by its %s" % next(iter(header)), status, data)


def main():
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    scenarios = {"plain": gateway.PLAIN, "run": gateway.RUN, "weather": call_with({"city": "Oslo"}, "get_weather")}
    scenarios.update({"fault " + what: call_with(arguments) for what, (arguments, _) in MODEL_FAULTS.items()})
    scenarios["undeclared no_such_tool"] = call_with({}, "no_such_tool")
    scenarios["undeclared "] = call_with({}, "x")
    with gateway.Model(scenarios) as model, gateway.Gateway(model, ["--max-request-body-size-bytes", str(BODY_MAX)]) as g:
        slow = g.connect()
        slow.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        begin = time.monotonic()
        refuse(g, model)
        accepted(g, model)
        model_faults(g)
        parent_deleted(g)
        smuggling(g, model)
        routes(g)
        slow.settimeout(gateway.PATIENCE)
        got = slow.recv(4096)
        t.ok(got.startswith(b"HTTP/1.1 408 "), "a head that takes longer than its time", got, "after %.0f s" % (time.monotonic() - begin))
        slow.close()
        item = g.run_code("print(1)")[0]
        t.ok(item["status"] == "completed" and g.call("GET", "/health")[0] == 200, "the server is there afterwards", item)
        log = g.log()
        t.ok("print(1)" not in log and "You said" not in log, "nothing of users' texts is in the log", log[-1500:])
        t.ok(g.stop() == 0, "and ends well", log[-2000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
