#!/usr/bin/env python3
"""The published recordings of other servers, had again. Interpreter calls, by the other gateway and by OpenAI itself: what their
model said follows from what their clients saw, so the scripted model says it again; our client has to see the same: the same JSON
as from the other gateway, the same events in the same order as from OpenAI (but for ids, the number of deltas, and outputs, which
it withholds). And dialogues of several turns: each reply is played as upstream of its turn, the client goes on with our ids."""
import fnmatch
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]

import differences  # noqa: E402
import gateway  # noqa: E402
import invariants  # noqa: E402
import places  # noqa: E402
import recordings  # noqa: E402
import table  # noqa: E402
import talk  # noqa: E402
import tap  # noqa: E402

t = tap.Tap()
# What is about OpenAI's own service, and what we show only where somebody has said it.
OPENAIS_OWN = {"access_programs", "billing", "moderation", "prompt_cache_options", "prompt_cache_retention", "tool_usage",
               "service_tier", "user"}
DIALOGUES = ("text_only/responses/*", "tool_calls/multi_turn/*", "codex/codex-openai-https-namespace-*")
NO_USAGE = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


def call_of(item):
    """What the model said for the client to see this item."""
    suffix = item["id"][len("ci_"):]
    return {"type": "function_call", "id": "fc_" + suffix, "call_id": "call_" + suffix, "name": "code_interpreter",
            "arguments": json.dumps({"code": item["code"]}), "status": "completed"}


def rounds_of(response):
    """The model's answers: each call ends one."""
    rounds, output = [], []
    for item in response["output"]:
        is_call = item["type"] == "code_interpreter_call"
        output.append(call_of(item) if is_call else item)
        if is_call:
            rounds.append(output)
            output = []
    rounds.append(output)
    return [{"id": "resp_up", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": o,
             "usage": response["usage"] if n == 0 else NO_USAGE} for n, o in enumerate(rounds)]


def events_of(response):
    """A model's answer as events."""
    begun = dict(response, status="in_progress", output=[], usage=None)
    events = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        empty = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        events.append({"type": "response.output_item.added", "output_index": index,
                       "item": dict(item, status="in_progress", **empty)})
        if item["type"] == "function_call":
            events += [dict(place, type="response.function_call_arguments.delta", delta=item["arguments"]),
                       dict(place, type="response.function_call_arguments.done", arguments=item["arguments"])]
        else:
            place["content_index"] = 0
            part, text = item["content"][0], item["content"][0]["text"]
            events += [dict(place, type="response.content_part.added", part=dict(part, text="")),
                       dict(place, type="response.output_text.delta", delta=text, logprobs=[]),
                       dict(place, type="response.output_text.done", text=text, logprobs=[]),
                       dict(place, type="response.content_part.done", part=part)]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return events + [{"type": "response.completed", "response": response}]


def ask(turn, rounds):
    """The client's own request, in front of a model that says these rounds."""
    body = dict(turn.request["body"], model="m")
    with gateway.Model({"m": {"rounds": rounds}}) as model, gateway.Gateway(model) as server:
        return talk.ask(server.port, "POST", "/v1/responses", json.dumps(body).encode(), {"content-type": "application/json"})


def by_gateway(name, turn, rows):
    reply = ask(turn, [{"body": r} for r in rounds_of(turn.reply.body)])
    reply.body = reply.body.replace(b'"model":"m"', json.dumps({"model": turn.reply.body["model"]}).encode()[1:-1], 1)
    found = []
    differences.replies(turn.reply, reply, differences.Ids(), found)
    left = [str(d) for d in found if not any(row.recording == "*" and row.covers(name, turn.name, d) for row in rows)]
    t.check("%s: the same reply, but for what is declared of all" % name, left)
    t.check("%s: the invariants hold" % name, invariants.response(json.loads(reply.text())))


def steps(events):
    """The order of a stream: types and places, runs of deltas as one."""
    found = []
    for e in events:
        step = (e["type"], e.get("output_index"), (e.get("item") or {}).get("type"))
        if not found or step != found[-1] or not e["type"].endswith(".delta"):
            found.append(step)
    return found


def by_openai(name, turn):
    theirs = invariants.Stream(turn.reply.sse).events
    reply = ask(turn, [{"events": events_of(r)} for r in rounds_of(theirs[-1]["response"])])
    ours = invariants.Stream(reply.text()).events if reply.is_stream() else []
    t.ok(steps(ours) == steps(theirs), "%s: the same events in the same order" % name, steps(ours), steps(theirs))
    keys = [sorted(set(a) - set(b) - {"obfuscation"}) for a, b in zip(unrepeated(theirs), unrepeated(ours))]
    t.ok(not any(keys), "%s: no event lacks a member" % name, keys)
    t.check("%s: the invariants hold" % name, invariants.stream(reply.text(), ["code_interpreter"]))
    a, b = theirs[-1]["response"], ours[-1]["response"] if ours else {}
    missing = sorted(set(a) - set(b) - OPENAIS_OWN)
    t.ok(not missing, "%s: the response has OpenAI's members" % name, missing)


def unrepeated(events):
    return [e for n, e in enumerate(events) if n == 0 or not e["type"].endswith(".delta") or e["type"] != events[n - 1]["type"]]


def dialogue(r):
    """Every turn goes through, and the client gets the items that it got then."""
    ids, scripts = {}, {"t%d" % n: {"rounds": [turn.reply.round()]} for n, turn in enumerate(r.turns)}
    with gateway.Model(scripts) as model, gateway.Gateway(model, interpreter=False) as server:
        for n, turn in enumerate(r.turns):
            text = json.dumps(dict(turn.request["body"], model="t%d" % n))
            for there, here in ids.items():
                text = text.replace(there, here)
            reply = talk.ask(server.port, "POST", "/v1/responses", text.encode(), {"content-type": "application/json"})
            want, problems = turn.reply.response(), []
            if reply.is_stream():
                problems = invariants.stream(reply.text())
                got = invariants.Stream(reply.text()).events[-1].get("response") or {}
            else:
                got = json.loads(reply.text())
            if [recordings.gist_of(i) for i in got.get("output") or []] != [recordings.gist_of(i) for i in want["output"]]:
                problems.append("%d, %s" % (reply.status, json.dumps(got)))
            ids[want["id"]] = got.get("id", want["id"])
            t.check("%s %s: goes through" % (r.name, turn.name), problems)


def main():
    places.need("mayfly", "zygote", "runtime")
    if recordings.yaml is None:
        tap.skip_all("PyYAML is not installed (scripts/setup --tests)")
    root = recordings.folder()
    if root is None:
        tap.skip_all("the published recordings are not here (MF_CASSETTES)")
    for r in recordings.read_all(root):
        if any(fnmatch.fnmatchcase(r.name, pattern) for pattern in DIALOGUES):
            dialogue(r)
    rows = table.differences(table.path())
    for r in recordings.read_all(os.path.join(root, "code_interpreter")):
        for turn in r.turns:
            if turn.reply.sse is not None:
                by_openai(r.name, turn)
            elif "gateway" in r.name:
                by_gateway(r.name, turn, rows)
    return t.done()


sys.exit(main())
