#!/usr/bin/env python3
"""What a model server can do wrong, in the first round and after a tool has run, as JSON and streamed: the client gets an answer
that says so, nothing hangs, and the server is there afterwards."""
import http.client
import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import upstream  # noqa: E402
from upstream import sse  # noqa: E402

t = tap.Tap()
TOOL = gateway.TOOL
WHOLE = upstream.events_for([upstream.message("one two three")])
MIB = 1 << 20


def sse_data(event):
    """Without an `event:` line."""
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def refuse(x):
    """A reset, not an end."""
    x.sock.setsockopt(gateway.socket.SOL_SOCKET, gateway.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    x.sock.close()


def reset_mid_event(x):
    x.head()
    x.send(b"".join(sse(e) for e in WHOLE[:4]) + sse(WHOLE[4])[:40])
    time.sleep(0.1)
    refuse(x)


def cut(x):
    if x.body.get("stream"):
        x.head()
        x.send(b"".join(sse(e) for e in WHOLE[:5]))
    else:
        x.head(200, "application/json")
        x.send(b'{"id":"resp_up","output":[')


def hang(x):
    x.wait_until_left()


def hang_mid_stream(x):
    x.head()
    x.send(b"".join(sse(e) for e in WHOLE[:5]))
    x.wait_until_left()


def busy(x):
    x.json({"error": {"message": "slow down", "type": "rate_limit", "code": "busy"}}, 429, "Retry-After: 7\r\nX-Request-Id: up-1\r\n")


def html(x):
    x.head(200, "text/html")
    x.send(b"<html><body>Bad gateway</body></html>")


def html_502(x):
    x.head(502, "text/html")
    x.send(b"<html><body>Bad gateway</body></html>")


def long_line(x):
    x.head()
    x.send(b"".join(sse(e) for e in WHOLE[:4]) + b"data: ")
    for _ in range(40):
        x.send(b"x" * MIB)


def long_json(x):
    x.head(200, "application/json")
    x.send(b'{"id":"')
    for _ in range(40):
        x.send(b"x" * MIB)


def too_much_text(x):
    """More than is kept of a response."""
    if not x.body.get("stream"):
        x.json(upstream.response("completed", text="y" * (9 * MIB)))
        return
    x.head()
    x.send(b"".join(sse(e) for e in WHOLE[:4]))
    for _ in range(9 * 128):
        x.send(sse(dict(WHOLE[4], delta="y" * 8192)))
    x.send(b"".join(sse(e) for e in WHOLE[5:]))


def too_many_items(x):
    x.answer([upstream.message("x", id="msg_%d" % i) for i in range(1100)])


def wrong_type(x):
    """The right body under the other name."""
    if x.body.get("stream"):
        x.head(200, "application/json")
        x.send(b"".join(sse(e) for e in WHOLE) + b"data: [DONE]\n\n")
    else:
        x.head(200, "text/event-stream")
        x.send(json.dumps(upstream.response("completed", text="one two three")).encode())


def out_of_order(x):
    x.head()
    x.send(b"".join(sse(e) for e in [WHOLE[0], WHOLE[4], WHOLE[3], WHOLE[6], WHOLE[2], WHOLE[1], *WHOLE[5:]]) + b"data: [DONE]\n\n")


def two_texts(x):
    """An item that is done as something else than it was said to be."""
    x.head()
    other = dict(WHOLE[-2], item=upstream.message("something else"))
    x.send(b"".join(sse(e) for e in [*WHOLE[:-2], other, WHOLE[-1]]) + b"data: [DONE]\n\n")


def no_events(x):
    x.head()
    x.send(b": nothing\n\n" * 10)


def junk(x):
    x.head()
    x.send(b"data: {nope\n\ndata: 17\n\nevent: x\ndata: {\"type\": 5}\n\n\xff\xfe\n\n" + b"".join(sse(e) for e in WHOLE))


def types_of_two_lines(x):
    x.head()
    odd = [{"type": "x\nevent: response.completed", "n": 1}, {"type": "x\r\ndata: {}", "output_index": 0, "item_id": "msg_1"}]
    x.send(b"".join(sse_data(e) for e in [*WHOLE[:4], *odd, *WHOLE[4:]]))


def array(x):
    x.json([1, 2])


def empty(x):
    x.head(200, "application/json")


def failed(x):
    r = dict(upstream.response("failed"), error={"code": "server_error", "message": "out of memory"})
    if x.body.get("stream"):
        x.head()
        x.send(b"".join(sse(e) for e in [*WHOLE[:2], {"type": "response.failed", "sequence_number": 2, "response": r}]))
    else:
        x.json(r)


def error_event(x):
    x.head()
    x.send(sse(WHOLE[0]) + sse({"type": "error", "code": "server_error", "message": "it broke", "param": None, "sequence_number": 1}))


def bad_http(x):
    x.send(b"SSH-2.0-OpenSSH_9.2\r\n")


def bad_chunks(x):
    x.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nevent\r\nzz\r\n")


def redirect(x):
    x.head(302, "text/plain", "Location: http://127.0.0.1:1/\r\nContent-Length: 0\r\n")


JSON, STREAM, BOTH = (False,), (True,), (False, True)
# behaviour: (modes, what a JSON client gets, what a streaming client gets). Of JSON: (status, code). Of a stream: how it ends,
# a terminal event's type or "error N".
UNREADABLE = (400, "invalid_request_error")  # as the contract has it
FAULTS = {
    refuse: (BOTH, (502, "upstream_error"), "error 502"),
    reset_mid_event: (STREAM, None, "response.failed"),
    cut: (BOTH, UNREADABLE, "response.failed"),
    hang: (BOTH, (504, "upstream_error"), "error 504"),
    hang_mid_stream: (STREAM, None, "error 504"),
    busy: (BOTH, (429, "busy"), "error 429"),
    html: (BOTH, UNREADABLE, "response.failed"),
    html_502: (BOTH, (502, None), "error 502"),
    long_line: (STREAM, None, "error 502"),
    long_json: (JSON, (502, "response_resource_limit_exceeded"), None),
    too_much_text: (BOTH, (500, "response_resource_limit_exceeded"), "error 500"),
    too_many_items: (BOTH, (500, "response_resource_limit_exceeded"), "error 500"),
    wrong_type: (BOTH, None, "response.completed"),
    out_of_order: (STREAM, None, "response.completed"),
    two_texts: (STREAM, None, "error 502"),
    no_events: (STREAM, None, "response.failed"),
    junk: (STREAM, None, "response.completed"),
    types_of_two_lines: (STREAM, None, "response.completed"),
    array: (JSON, UNREADABLE, None),
    empty: (JSON, UNREADABLE, None),
    failed: (BOTH, "failed", "response.failed"),
    error_event: (STREAM, None, "response.failed"),
    bad_http: (BOTH, (502, "upstream_error"), "error 502"),
    bad_chunks: (STREAM, None, "response.failed"),
    redirect: (BOTH, (302, None), "error 302"),
}


def late(behaviour):
    """First a call of the interpreter, then the fault."""
    def both(x):
        if x.has_output():
            behaviour(x)
        else:
            x.answer([upstream.call("{\"code\":\"print(6 * 7)\"}")])
    return both


def as_json(g, name, wanted, is_late):
    begin = time.monotonic()
    status, headers, data = g.call("POST", "/v1/responses", {"model": name, "input": "x", "tools": [TOOL]})
    problems = [] if time.monotonic() - begin < 30 else ["it took %.0f s" % (time.monotonic() - begin)]
    r = json.loads(data) if data.startswith(b"{") else {}
    seen = "%d %s %r" % (status, headers, data[:500])
    if wanted == "failed":
        if status != 200 or r.get("status") != "failed" or r["error"]["message"] != "out of memory" or r["id"] == "resp_up":
            problems.append(seen)
        if is_late and [i["type"] for i in r.get("output", [])] != ["code_interpreter_call"]:
            problems.append("the call before is gone: " + seen)
        if g.call("GET", "/v1/responses/%s" % r.get("id"))[0] != 404:
            problems.append("it was stored")
    elif wanted:
        if status != wanted[0] or (wanted[1] and r.get("error", {}).get("code") != wanted[1]):
            problems.append(seen)
        if wanted[0] == 429 and (headers.get("retry-after"), headers.get("x-request-id")) != ("7", "up-1"):
            problems.append("upstream's headers are gone: " + seen)
    elif not (status == 200 and r.get("status") in ("completed", "failed")) and not (status >= 400 and "error" in r):
        problems.append(seen)
    return problems


def streamed(g, name, wanted, is_late):
    begin = time.monotonic()
    status, headers, data = g.call("POST", "/v1/responses", {"model": name, "input": "x", "tools": [TOOL], "stream": True})
    problems = [] if time.monotonic() - begin < 30 else ["it took %.0f s" % (time.monotonic() - begin)]
    events, form = gateway.events_of(data)
    last = events[-1] if events else {}
    seen = "%d %s … %r" % (status, [e["type"] for e in events], data[-500:])
    if status != 200 or form or not events:
        return problems + form + [seen]
    if last["type"] == "error":
        error = last.get("error") or last
        if not error.get("message") or [e["sequence_number"] for e in events] != list(range(len(events))):
            problems.append("the error: " + seen)
        got = "error %s" % last.get("status")
    else:
        # A delta that came before its item is nobody's, and what is done stands.
        problems += [p for p in gateway.broken(events) if "out_of_order" not in name or not p.startswith("7:")]
        got = last["type"]
        if got == "response.failed" and not (last["response"]["status"] == "failed" and last["response"]["error"].get("message")):
            problems.append("the failure: " + seen)
        if got != "response.completed" and g.call("GET", "/v1/responses/" + last["response"]["id"])[0] != 404:
            problems.append("it was stored")
    if wanted != got:
        problems.append("%s, not %s: %s" % (got, wanted, seen))
    if is_late and not any(e["type"] == "response.code_interpreter_call.completed" for e in events):
        problems.append("the call before is not seen: " + seen)
    return problems


def proxied(g):
    """Through the raw proxy an answer is upstream's own; what cannot be one is told apart from a whole one."""
    for fault, status, code in ((refuse, 502, "llm_unavailable"), (bad_http, 502, "llm_unavailable"), (hang, 504, "llm_timeout"),
                                (busy, 429, "busy")):
        for stream in (False, True):
            got, headers, data = g.call("POST", "/v1/responses", {"model": fault.__name__, "input": "x", "store": False, "stream": stream})
            good = got == status and json.loads(data)["error"]["code"] == code and (status != 429 or headers.get("retry-after") == "7")
            t.ok(good, "the raw proxy: %s%s" % (fault.__name__, ", streamed" if stream else ""), got, headers, data[:300])
    for fault in (reset_mid_event, hang_mid_stream, bad_chunks):
        try:
            got = g.call("POST", "/v1/responses", {"model": fault.__name__, "input": "x", "store": False, "stream": True})
            t.ok(False, "the raw proxy: %s is a cut answer" % fault.__name__, "a whole one: %s" % str(got)[:300])
        except (http.client.IncompleteRead, ConnectionError):
            t.ok(True, "the raw proxy: %s is a cut answer" % fault.__name__)


def main():
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    behaviours = {"ok": lambda x: x.answer([upstream.message("fine")]), "run": late(lambda x: x.answer([upstream.message("{}")]))}
    for fault in FAULTS:
        behaviours[fault.__name__] = fault
        behaviours["late " + fault.__name__] = late(fault)
    with upstream.Upstream(behaviours) as up, gateway.Gateway(up, env={"STREAMING_CHUNK_TIMEOUT_S": "1"}) as g:
        for fault, (modes, json_wanted, stream_wanted) in FAULTS.items():
            for name, is_late in ((fault.__name__, False), ("late " + fault.__name__, True)):
                words = name.replace("_", " ")
                if False in modes:
                    t.check("upstream, JSON: " + words, as_json(g, name, json_wanted, is_late))
                if True in modes:
                    t.check("upstream, streamed: " + words, streamed(g, name, stream_wanted, is_late))
        proxied(g)
        t.check("upstream is left by all", g.until("upstream", lambda: (up.active == 0, "%d are held" % up.active)))
        status, r = g.respond(model="ok", input="x")
        t.ok(status == 200 and r["output"][0]["content"][0]["text"] == "fine", "the server works afterwards", r)
        item = g.run_code("print(1)")[0]
        t.ok(item["status"] == "completed", "and so does the interpreter", item)
        t.ok(g.stop() == 0, "and ends well", g.log()[-2000:])
    with gateway.Gateway("http://127.0.0.1:9", env={"STREAMING_CHUNK_TIMEOUT_S": "1"}) as g:
        status, r = g.respond(model="m", input="x")
        t.ok(status == 502 and r["error"]["message"] == "LLM unavailable", "nobody there: 502", r)
        status, events = g.respond(model="m", input="x", stream=True)
        t.ok(events[-1]["type"] == "error" and events[-1]["status"] == 502, "streamed: an error event", events)
        status, r = g.respond(model="m", input="x", store=False)
        t.ok(status == 502 and r["error"]["code"] == "llm_unavailable", "through the raw proxy, too", r)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
