#!/usr/bin/env python3
"""The comparison and the invariants by themselves, without a server: a recording is equal to itself, and whatever is changed
in it is found."""
import copy
import http.client
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]

import differences  # noqa: E402
import invariants  # noqa: E402
import recordings  # noqa: E402
import table  # noqa: E402
import talk  # noqa: E402
import tap  # noqa: E402

t = tap.Tap()
# What 0.9.0 does itself against the invariants; ours does better (docs/compatibility.md).
KNOWN = {"recorded-0.9.0/errors/upstream-failures-stream t4", "recorded-0.9.0/errors/upstream-failures-stream t7",
         "recorded-0.9.0/extra/tool-and-loop-edge-cases-stream t7", "recorded-0.9.0/extra/unknown-upstream-events t1",
         "recorded-0.9.0/extra/unknown-upstream-events t3"}


def as_reply(message, text=None):
    headers = http.client.HTTPMessage()
    for name, value in message.headers.items():
        headers[name] = value
    body = message.sse if message.sse is not None else message.body
    body = "" if body is None else body if isinstance(body, str) else json.dumps(body)
    return talk.Reply(message.status, headers, (body if text is None else text).encode())


def between(message, reply):
    out = []
    differences.replies(message, reply, differences.Ids(), out)
    return [str(d) for d in out]


def recordings_of_turns():
    root = recordings.folder()
    found = recordings.read_all(os.path.join(HERE, "fixtures"))
    if root:
        found += recordings.read_all(os.path.join(root, "recorded-0.9.0"), root)
    else:
        t.skip("the published recordings", "they are not here (MF_CASSETTES)")
    return found


def equal_to_themselves(found):
    for r in found:
        problems = []
        for turn in r.turns:
            problems += between(turn.reply, as_reply(turn.reply))
            if turn.reply.sse is not None and "%s %s" % (r.name, turn.name) not in KNOWN:
                problems += invariants.stream(turn.reply.sse, native=True)
        t.check("%s: equal to itself, the invariants hold" % r.name, problems)


RESPONSE = {"id": "resp_00000000-0000-7000-8000-000000000001", "object": "response", "created_at": 5, "status": "completed",
            "error": None, "incomplete_details": None, "usage": None, "previous_response_id": None,
            "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": "ab", "annotations": []}]}]}


def frame(event):
    return "event: %s\ndata: %s\n\n" % (event["type"], json.dumps(event))


def stream_of(events):
    return "".join(frame(dict(e, sequence_number=n)) for n, e in enumerate(events)) + "data: [DONE]\n\n"


def good_events():
    item = RESPONSE["output"][0]
    opening = dict(item, status="in_progress", content=[])
    begun = dict(RESPONSE, status="in_progress", output=[])
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    return copy.deepcopy([
        {"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": opening},
        dict(place, type="response.output_text.delta", delta="a"), dict(place, type="response.output_text.delta", delta="b"),
        dict(place, type="response.output_text.done", text="ab"),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": RESPONSE}])


def interpreter_events():
    done = {"type": "code_interpreter_call", "id": "ci_a", "container_id": "cntr_a", "code": "1", "status": "completed",
            "outputs": []}
    opening = dict(done, code="", status="in_progress", outputs=None)
    place = {"output_index": 0, "item_id": "ci_a"}
    life = "response.code_interpreter_call"
    final = dict(RESPONSE, output=[done])
    return copy.deepcopy(good_events()[:2] + [
        {"type": "response.output_item.added", "output_index": 0, "item": opening}, dict(place, type=life + ".in_progress"),
        dict(place, type=life + "_code.delta", delta="1"), dict(place, type=life + "_code.done", code="1"),
        dict(place, type=life + ".interpreting"), dict(place, type=life + ".completed"),
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": final}])


def changed(events, at, **fields):
    events[at].update(fields)
    return events


def without(events, at):
    del events[at]
    return events


def broken_streams():
    item = RESPONSE["output"][0]
    for name, events in (("a message", good_events()), ("a gateway call", interpreter_events())):
        t.check("invariants: %s is good" % name, invariants.stream(stream_of(events)))
    cases = [
        ("1", stream_of(good_events()).replace('"sequence_number": 3', '"sequence_number": 9')),
        ("2", stream_of(without(good_events(), 1))),
        ("2", stream_of(good_events()[:-1])),
        ("2", stream_of(good_events() + good_events()[-1:])),
        ("2", stream_of(changed(good_events(), -1, type="response.failed"))),
        ("3", stream_of(good_events()).replace("event: response.created", "event: response.x")),
        ("3", stream_of(good_events()).replace("data: [DONE]\n\n", "")),
        ("4", stream_of(changed(good_events(), 2, output_index=1))),
        ("4", stream_of(changed(good_events(), 6, item=dict(item, id="msg_2")))),
        ("4", stream_of(without(good_events(), 6))),
        ("5", stream_of(changed(good_events(), 3, item_id="msg_2"))),
        ("5", stream_of(changed(good_events(), 3, output_index=4))),
        ("6", stream_of(changed(good_events(), -1, response=dict(RESPONSE, output=[])))),
        ("7", stream_of(changed(good_events(), 4, delta="x"))),
        ("7", stream_of(changed(good_events(), 5, text="abc"))),
        ("8", stream_of(changed(good_events(), -1, response=dict(RESPONSE, id="resp_x")))),
        ("12", stream_of(without(interpreter_events(), 6))),
        ("12", stream_of(changed(interpreter_events(), 2, item=dict(interpreter_events()[2]["item"], outputs=[])))),
        ("12", stream_of(interpreter_events()).replace("cntr_a", "cntr_b")),
        ("19", stream_of(good_events()).replace('"role": "assistant", ', "")),
    ]
    for n, (number, text) in enumerate(cases):
        problems = invariants.stream(text)
        t.ok(any(p.startswith(number + ":") for p in problems), "invariants: %s is missed by stream %d" % (number, n), problems)
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "1"}
    t.check("invariants: a good request upstream", invariants.asked({"input": [call, output]}))
    for number, body in (("15", {"input": [call]}), ("15", {"input": [call, output, output]}), ("16", {"input": [], "store": True}),
                         ("16", {"input": [], "tools": [{"type": "web_search"}]})):
        t.ok(any(p.startswith(number) for p in invariants.asked(body)), "invariants: %s of a request upstream" % number, body)
    use = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    twice = {"input_tokens": 2, "output_tokens": 4, "total_tokens": 6}
    t.ok(not invariants.usage({"usage": twice}, [use, None, use]) and invariants.usage({"usage": use}, [use, use]),
         "invariants: 10, usage")


def found_differences():
    message = recordings.Message({"status_code": 200, "headers": {"content-type": "application/json"}, "body": RESPONSE})
    other = "resp_00000000-0000-7000-8000-000000000002"
    cases = [
        (json.dumps(dict(RESPONSE, id=other, created_at=9)), []),
        (json.dumps(dict(RESPONSE, id="resp_other")), ["reply.response.id"]),
        (json.dumps(dict(RESPONSE, status="failed")), ["reply.response.status"]),
        (json.dumps(dict(RESPONSE, more=1)), ["reply.response.more"]),
        (json.dumps({k: v for k, v in RESPONSE.items() if k != "usage"}), ["reply.response.usage"]),
        (json.dumps(dict(RESPONSE, output=[])), ["reply.response.output.length"]),
        (json.dumps(dict(RESPONSE, created_at=True)), ["reply.response.created_at"]),
    ]
    for text, want in cases:
        got = between(message, as_reply(message, text))
        t.ok([g.split(":")[0] for g in got] == want, "differences: %s" % (want or "none"), got)
    ids = differences.Ids()
    t.ok(ids.same(RESPONSE["id"], other) and not ids.same(RESPONSE["id"], RESPONSE["id"].replace("1", "3"))
         and ids.renamed({"a": ["/" + RESPONSE["id"]]}) == {"a": ["/" + other]}, "differences: an id is one id")
    message = recordings.Message({"headers": {"content-type": "text/event-stream"}, "sse": [stream_of(good_events())]})
    for events, want in ((good_events(), []), (changed(good_events(), 3, delta="x"), ["event.response.output_text.delta.delta"]),
                         (without(good_events(), 5), ["event.response.output_text.done"])):
        got = between(message, as_reply(message, stream_of(events)))
        t.ok([g.split(":")[0] for g in got] == want, "differences of streams: %s" % (want or "none"), got)


def declared():
    text = ("# x\n\n## Declared differences\n\n| Recording | Turn | Where | There | Here | Kind | Why |\n|---|---|---|---|---|---|---|\n"
            "| `a/*` | t1 t2 | `reply.{x,y}` | absent | `…` | better | because |\n| `b` | `*` | z | `\"js…\"` | 5 | not yet | \\| |\n")
    with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        rows = table.differences(f.name)
    d = differences.Difference
    t.ok(len(rows) == 2 and rows[1].why == "|", "table: rows", rows)
    t.ok(rows[0].covers("a/b", "t2", d("reply.x", differences.ABSENT, 1))
         and not rows[0].covers("a/b", "t3", d("reply.x", differences.ABSENT, 1))
         and not rows[0].covers("a/b", "t1", d("reply.x", 1, 1)) and not rows[0].covers("b", "t1", d("reply.x", differences.ABSENT, 1))
         and rows[0].unseen() == ["reply.y"], "table: what a row covers, and what of it did not occur", rows[0].unseen())
    t.ok(rows[1].covers("b", "t9", d("z", "json", 5)) and not rows[1].covers("b", "t9", d("z", "json", True))
         and not rows[1].covers("b", "t9", d("z", "jx", 5)), "table: values")


def main():
    if recordings.yaml is None:
        tap.skip_all("PyYAML is not installed (scripts/setup --tests)")
    equal_to_themselves(recordings_of_turns())
    broken_streams()
    found_differences()
    declared()
    return t.done()


sys.exit(main())
