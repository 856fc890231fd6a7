#!/usr/bin/env python3
"""Replays recorded dialogues: the scripted model plays what upstream said, this program says what the client said to
`mayfly serve`, and both what the client got and what upstream was asked are compared with the recording.

A difference must be declared in docs/compatibility.md, and what is declared there must occur. Recordings are looked for
where MF_CASSETTES says, else in ../shared/cassettes beside the repository; our own, in fixtures/, have no differences.

usage: replay.py [--only PATTERN] [--table FILE] [--show]
"""
import argparse
import fnmatch
import json
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]

import differences  # noqa: E402
import gateway  # noqa: E402
import interpreted  # noqa: E402
import invariants  # noqa: E402
import places  # noqa: E402
import recordings  # noqa: E402
import table  # noqa: E402
import talk  # noqa: E402
import tap  # noqa: E402

GROUP = "recorded-0.9.0"
t = tap.Tap()
MODEL_NAME = re.compile(r'("model":\s*")([^"]*?)~\d+"')


def plain_model(text):
    """A text with the models' own names in place of those of single turns."""
    return MODEL_NAME.sub(r'\1\2"', text)


class Play:
    """Some recordings that know each other's ids, on one server with one home."""

    def __init__(self, some, interpreter=False):
        self.recordings, self.ids = some, differences.Ids()
        self.turns = [(r, turn) for r in some for turn in r.turns]
        self.gateway_items = set()  # ids of the public items that the gateway made
        self.interpreter = interpreter or any(r.value.get("interpreter") for r in some)
        self.env = dict(some[0].value.get("env") or {})
        for _, turn in self.turns:
            bearer = turn.request["headers"].get("authorization", "")
            if bearer.startswith("Bearer sk-"):
                self.env["OPENAI_API_KEY"] = bearer[7:]

    def model(self):
        """The scripted model, with a script for each turn; the model's name says which."""
        scripts = {}
        for n, (_, turn) in enumerate(self.turns):
            rounds = [self._renamed(reply.round(), turn, n) for q, reply in turn.upstream
                      if q["path"] == "/v1/responses"]
            if rounds:
                scripts[self.model_of(turn, n)] = {"rounds": rounds}
        # A scenario has at least one script, also where nothing is to be asked.
        scripts.setdefault("never", {"rounds": [{"text": "this was not to be asked"}]})
        paths = {q["path"]: reply.round() for _, turn in self.turns for q, reply in turn.upstream
                 if q["path"] != "/v1/responses"}
        # What was asked with GET was not recorded; a list of models is upstream's own.
        paths.update({turn.request["path"]: turn.reply.round() for _, turn in self.turns
                      if turn.request["path"] == "/v1/models"})
        return gateway.Model(scripts, paths=paths)

    @staticmethod
    def model_of(turn, n):
        body = turn.request.get("body")
        model = body.get("model") if isinstance(body, dict) else None
        return "%s~%d" % (model, n) if isinstance(model, str) else "none~%d" % n

    def _renamed(self, value, turn, n):
        """Upstream's words with the turn's own model name."""
        model = turn.request["body"]["model"]
        pattern, name = r'(\\?"model\\?":\s*\\?")%s(\\?")' % re.escape(model), self.model_of(turn, n)
        return json.loads(re.sub(pattern, lambda m: m.group(1) + name + m.group(2), json.dumps(value)))

    def run(self, visit):
        with self.model() as model, gateway.Gateway(model, env=self.env, interpreter=self.interpreter) as server:
            for n, (recording, turn) in enumerate(self.turns):
                visit(recording, turn, self._turn(model, server.port, turn, n))
            t.ok(server.process.poll() is None, "%s: the server lives" % self.recordings[0].name, server.log())

    def _turn(self, model, port, turn, n):
        """What differs in a turn, and what breaks an invariant."""
        model.reset()
        data = turn.body_bytes()
        if isinstance(turn.request.get("body"), dict) and "model" in turn.request["body"]:
            body = dict(self.ids.renamed(turn.request["body"]), model=self.model_of(turn, n))
            data = json.dumps(body).encode()
        reply = talk.ask(port, turn.request["method"], self.ids.renamed(turn.request["path"]), data, turn.request["headers"])
        reply.body = plain_model(reply.text()).encode()
        seen = json.loads(plain_model(json.dumps(model.requests())))
        seen = [r for r in seen if r["method"] == "POST"]
        found = []
        differences.replies(turn.reply, reply, self.ids, found)
        differences.upstream([q for q, _ in turn.upstream], seen, self.ids, found)
        return found, self._problems(port, turn, reply, seen)

    def _problems(self, port, turn, reply, seen):
        request = turn.request.get("body")
        if turn.request["method"] != "POST" or turn.request["path"] != "/v1/responses" or not isinstance(request, dict):
            return []
        problems, final = [], None
        is_proxied = bool(seen) and isinstance(seen[0]["body"], dict) and "store" in seen[0]["body"]
        native = any("code_interpreter_call" in json.dumps(m.round()) for _, m in turn.upstream)
        if reply.is_stream():
            if not is_proxied:
                problems += invariants.stream(reply.text(), self._gateway_tools(request), native)
            last = invariants.Stream(reply.text()).events[-1:]
            final = last[0].get("response") if last else None
        elif reply.status == 200:
            final = json.loads(reply.text())
            problems += invariants.response(final)
        elif not turn.upstream and seen:
            problems.append("17: a refused request went upstream")
        if is_proxied:
            return problems
        for asked in seen:
            problems += invariants.asked(asked["body"], self.gateway_items) if isinstance(asked["body"], dict) else ["16: no JSON"]
        return problems + (self._kept(port, turn, final, request, seen) if final else [])

    def _kept(self, port, turn, final, request, seen):
        """8, 10, 11 and 18."""
        problems = []
        told = json.dumps([m.round() for _, m in turn.upstream])
        self.gateway_items.update(i["id"] for i in final["output"]
                                  if i.get("type") == "code_interpreter_call" and i["id"] not in told)
        rounds = [m.response() or {} for _, m in turn.upstream][:len(seen)]
        problems += invariants.usage(final, [r.get("usage") for r in rounds])
        if final.get("previous_response_id") != self.ids.renamed(request.get("previous_response_id")):
            problems.append("8: previous_response_id %r" % final.get("previous_response_id"))
        bearer = {"authorization": "Bearer " + self.env["OPENAI_API_KEY"]} if "OPENAI_API_KEY" in self.env else {}
        got = talk.ask(port, "GET", "/v1/responses/" + final["id"], headers=bearer)
        is_kept = request.get("store", True) and final.get("status") in ("completed", "incomplete")
        if is_kept != (got.status == 200):
            problems.append("18: status %r, and GET gives %d" % (final.get("status"), got.status))
        if is_kept and got.status == 200 and json.loads(plain_model(got.text())) != final:
            problems.append("11: GET gives %s, not %s" % (got.text(), json.dumps(final)))
        return problems

    @staticmethod
    def _gateway_tools(request):
        return [d["type"] for d in request.get("tools") or [] if d.get("type") == "code_interpreter"]


def plays(some, interpreter=False):
    """Who names a response of another recording comes after it, on the same server."""
    made = {}
    for r in some:
        for turn in r.turns:
            response = turn.reply.response()
            if response and differences.MADE_ID.fullmatch(str(response.get("id"))):
                made.setdefault(response["id"], r.name)
    groups = {}
    for r in some:
        named = [turn.request["body"].get("previous_response_id") for turn in r.turns
                 if isinstance(turn.request.get("body"), dict)]
        owners = {made[i] for i in named if i in made and made[i] != r.name}
        groups.setdefault(min(owners, default=r.name), []).append(r)
    return [Play(sorted(g, key=lambda r, owner=owner: (r.name != owner, r.name)), interpreter) for owner, g in groups.items()]


class Judge:
    """Differences against what is declared."""

    def __init__(self, rows, show):
        self.rows, self.show = rows, show
        self.visited = set()

    def visit(self, recording, turn, result):
        found, problems = result
        name = recording.name
        self.visited.add(name)
        undeclared = []
        for d in found:
            rows = [row for row in self.rows if row.covers(name, turn.name, d)]
            if not rows:
                undeclared.append(str(d))
            elif self.show:
                t.note("%s %s: %s [%s]" % (name, turn.name, d, rows[0].kind))
        t.check("%s %s: as recorded, but for what is declared" % (name, turn.name), undeclared)
        t.check("%s %s: the invariants hold" % (name, turn.name), problems)

    def finish(self):
        for row in self.rows:
            if any(row.is_about(name) for name in self.visited):
                t.check("declared: %s" % row, ["no longer so at %s" % p for p in row.unseen()])
            else:
                t.check("declared: %s" % row, ["no recording is meant"])


def is_later(rows, name):
    """The row of what has to come first before this recording can be replayed."""
    return next((needs for pattern, needs in rows if fnmatch.fnmatchcase(name, pattern)), None)


def has_interpreter():
    """Whether programs can be run here."""
    return places.runtime() is not None and os.path.exists(places.zygote())


def replay_interpreted(judge, some):
    if not has_interpreter():
        t.skip("the recorded searches, told with the interpreter", "the runtime or the zygote is not built")
        return
    for play in plays(some, interpreter=True):
        play.run(judge.visit)


def replay_later(later, some):
    """What is declared as not there yet is really not there."""
    for r in some:
        found = []
        if r.is_frames:
            with gateway.Gateway("http://127.0.0.1:1", interpreter=False) as server:
                got = talk.ask(server.port, "GET", "/v1/responses", headers={
                    "connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
                    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="})
                found = ["status"] if got.status != 101 else []
        else:
            Play([r]).run(lambda recording, turn, result: found.extend(result[0]))
        t.ok(found, "%s: still waits for %s" % (r.name, is_later(later, r.name)),
             "it is as recorded: take it out of the table")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*")
    parser.add_argument("--table", default=table.path())
    parser.add_argument("--show", action="store_true")
    o = parser.parse_args()
    places.need("mayfly")
    if recordings.yaml is None:
        tap.skip_all("PyYAML is not installed (scripts/setup --tests)")
    own = [r for r in recordings.read_all(os.path.join(HERE, "fixtures")) if fnmatch.fnmatchcase(r.name, o.only)]
    for play in [Play([r]) for r in own]:
        if play.interpreter and not has_interpreter():
            t.skip(play.recordings[0].name, "the runtime or the zygote is not built")
        else:
            play.run(Judge([], o.show).visit)
    root = recordings.folder()
    if root is None:
        t.skip("the published recordings", "they are not here (MF_CASSETTES)")
        return t.done()
    rows, later = table.differences(o.table), table.pairs(o.table, "Recordings of what comes later", ["Recording", "Needs"])
    some = [r for r in recordings.read_all(os.path.join(root, GROUP)) if fnmatch.fnmatchcase(r.name, o.only)]
    judge = Judge(rows, o.show)
    for play in plays([r for r in some if not is_later(later, r.name)]):
        play.run(judge.visit)
    replay_interpreted(judge, interpreted.of([r for r in some if not is_later(later, r.name)]))
    replay_later(later, [r for r in some if is_later(later, r.name)])
    if o.only == "*":
        judge.finish()
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
