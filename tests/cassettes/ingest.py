#!/usr/bin/env python3
"""Every recorded reply of any server, played as upstream of a request: the gateway answers, the invariants hold, and there
is no error that the recording does not call for. What it does call for is a table of docs/compatibility.md."""
import fnmatch
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]

import gateway  # noqa: E402
import invariants  # noqa: E402
import places  # noqa: E402
import recordings  # noqa: E402
import table  # noqa: E402
import talk  # noqa: E402
import tap  # noqa: E402

ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed",
        "response.done": None}
PER_MODEL = 900  # a scenario holds at most 1000 scripts
t = tap.Tap()


def end_of(message):
    """The status with which a reply says that it ends; None: it says nothing, so it was cut."""
    if message.status >= 400:
        return "error"
    response = message.response()
    if response is None:
        return None if message.sse is not None else "error"
    if message.sse is None or any('"%s"' % name in message.sse for name in ENDS):
        # 0.9.0 calls it error.
        return "failed" if response.get("status") == "error" else response.get("status")
    return None


def lost(message, final):
    """The items that upstream finished and the client did not get as they were."""
    if message.sse is None:
        items = (message.body or {}).get("output") or []
    else:
        items = [e["item"] for e in invariants.Stream(plain(message.sse)).events
                 if e.get("type") == "response.output_item.done"]
    got = [recordings.gist_of(i) for i in final.get("output") or []]
    problems = ["%s did not arrive" % recordings.gist_of(i) for i in items if recordings.gist_of(i) not in got]
    told = (message.response() or {}).get("output") or []
    for kind in {i.get("type") for i in final.get("output") or []}:
        most = max(sum(isinstance(i, dict) and i.get("type") == kind for i in some) for some in (items, told))
        mine = sum(i.get("type") == kind for i in final["output"])
        # An item that was opened and never done is there as well.
        opened = (message.sse or "").count('"response.output_item.added"')
        if mine > most and mine > opened - len(items) + most:
            problems.append("%d items of type %s were made of %d" % (mine, kind, most))
    return problems


def plain(text):
    """Any recorded stream in the form that invariants.Stream reads."""
    out = []
    for line in text.splitlines():
        if line.startswith("data:") and line[5:].strip() != "[DONE]":
            value = json.loads(line[5:])
            out.append("event: %s\ndata: %s\n\n" % (value.get("type"), json.dumps(value)))
    return "".join(out) + "data: [DONE]\n\n"


def play(message, port, name):
    """One reply as upstream; the status that the client got, and problems."""
    is_stream = message.sse is not None
    body = json.dumps({"model": name, "input": "x", "stream": is_stream}).encode()
    reply = talk.ask(port, "POST", "/v1/responses", body, {"content-type": "application/json"})
    if not is_stream:
        if reply.status != 200:
            return "error", []
        final = json.loads(reply.text())
        return final["status"], invariants.response(final) + lost(message, final)
    if reply.status != 200:
        return "error", ["the stream did not open: %d %s" % (reply.status, reply.text())]
    problems = invariants.stream(reply.text(), native=True)
    last = invariants.Stream(reply.text()).events[-1]
    if last["type"] == "error":
        return "error", problems
    return last["response"]["status"], problems + lost(message, last["response"])


class Declared:
    """What docs/compatibility.md says of recordings; what it says and no recording needs is a failure."""

    def __init__(self, path):
        self.ends = table.pairs(path, "Ends of what is digested", ["Recording", "End", "Why"])
        self.breaks = table.pairs(path, "Broken where it was recorded", ["Recording", "Invariant", "Why"])
        self.used = set()

    def end(self, where, own):
        """How the client sees the end; own: what the recording itself says."""
        row = next((r for r in self.ends if fnmatch.fnmatchcase(where, r[0])), None)
        if row is None:
            return own
        self.used.update([row] if row[1] != own else [])
        return row[1]

    def left(self, where, problems):
        """The problems that are not declared."""
        for row in self.breaks:
            hit = [p for p in problems if fnmatch.fnmatchcase(where, row[0]) and p.startswith(row[1] + ":")]
            self.used.update([row] if hit else [])
            problems = [p for p in problems if p not in hit]
        return problems

    def finish(self):
        for row in self.ends + self.breaks:
            t.ok(row in self.used, "declared: %s" % " | ".join(row), "no recording needs it")


def main():
    places.need("mayfly")
    if recordings.yaml is None:
        tap.skip_all("PyYAML is not installed (scripts/setup --tests)")
    root = recordings.folder()
    if root is None:
        tap.skip_all("the published recordings are not here (MF_CASSETTES)")
    only = sys.argv[1] if len(sys.argv) > 1 else "*"
    every = [("%s %s" % (r.name, where), m) for r in recordings.read_all(root) for where, m in r.messages()
             if fnmatch.fnmatchcase(r.name, only)]
    declared = Declared(table.path())
    for start in range(0, len(every), PER_MODEL):
        some = every[start:start + PER_MODEL]
        scripts = {"m%d" % n: {"rounds": [m.round()]} for n, (_, m) in enumerate(some)}
        with gateway.Model(scripts) as model, gateway.Gateway(model, interpreter=False) as server:
            for n, (where, message) in enumerate(some):
                got, problems = play(message, server.port, "m%d" % n)
                want = declared.end(where, end_of(message) or "failed")
                problems = declared.left(where, problems) + (["it ends as %s, not %s" % (got, want)] if got != want else [])
                t.check("%s: digested" % where, problems)
            t.ok(server.process.poll() is None, "the server lives", server.log())
    if only == "*":
        declared.finish()
    return t.done()


sys.exit(main())
