#!/usr/bin/env python3
"""Every recorded reply of any server, played as upstream of a request: the gateway answers, the invariants hold, and there
is no error that the recording does not call for. What it does call for is a table of docs/compatibility.md."""
import fnmatch
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]

import invariants  # noqa: E402
import places  # noqa: E402
import recordings  # noqa: E402
import servers  # noqa: E402
import table  # noqa: E402
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
        return None
    if message.sse is None or any('"%s"' % name in message.sse for name in ENDS):
        return response.get("status")
    return None


def play(where, message, model, gateway, name):
    """One reply as upstream; the status that the client got, and problems."""
    is_stream = message.sse is not None
    reply = gateway.call("POST", "/v1/responses", {"model": name, "input": "x", "stream": is_stream})
    if not is_stream:
        if reply.status != 200:
            return "error", []
        return reply.json()["status"], invariants.response(reply.json())
    if reply.status != 200:
        return "error", ["the stream did not open: %d %s" % (reply.status, reply.text())]
    problems = invariants.stream(reply.text(), native=True)
    last = invariants.Stream(reply.text()).events[-1]
    return ("error" if last["type"] == "error" else last.get("response", {}).get("status")), problems


def compare(where, message, got, problems, declared, used):
    """declared: rows (pattern, end here, why) that stand for what the recording itself says."""
    want = end_of(message) or "failed"
    row = next((r for r in declared if fnmatch.fnmatchcase(where, r[0])), None)
    if row is not None:
        used.update([row] if row[1] != want else [])
        want = row[1]
    if got != want:
        problems = problems + ["it ends as %s, not %s" % (got, want)]
    t.check("%s: digested" % where, problems)


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
    declared = table.pairs(table.path(), "Ends of what is digested", ["Recording", "End", "Why"])
    used = set()
    for start in range(0, len(every), PER_MODEL):
        some = every[start:start + PER_MODEL]
        scripts = {"m%d" % n: {"rounds": [m.round()]} for n, (_, m) in enumerate(some)}
        with servers.Model({"scenarios": scripts}) as model, \
                servers.Gateway("http://127.0.0.1:%d" % model.port) as gateway:
            for n, (where, message) in enumerate(some):
                got, problems = play(where, message, model, gateway, "m%d" % n)
                compare(where, message, got, problems, declared, used)
            t.ok(gateway.is_alive(), "the server lives", gateway.words_of_log())
    for row in declared if only == "*" else ():
        t.ok(row in used, "declared: %s" % " | ".join(row), "no recording needs it")
    return t.done()


sys.exit(main())
