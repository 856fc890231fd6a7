#!/usr/bin/env python3
"""Makes our own recordings anew: record.py fixtures/NAME.yaml… plays each file's requests and rounds, and writes what came of it
into the file. What changed is then for a person to read (git diff): nothing here knows what is right.

Ids become small numbers in the order in which they are seen, times become 1, and a text that the old file leaves open
(`<description>`) stays open."""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]

import differences  # noqa: E402
import gateway  # noqa: E402
import invariants  # noqa: E402
import recordings  # noqa: E402
import replay  # noqa: E402
import talk  # noqa: E402

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class Names:
    """UUIDs of this run and their numbers in the file."""

    def __init__(self):
        self.numbers = {}

    def short(self, text):
        return UUID.sub(lambda m: self.numbers.setdefault(
            m[0], "00000000-0000-7000-8000-%012d" % (len(self.numbers) + 1)), text)

    def long(self, text):
        for uuid, number in self.numbers.items():
            text = text.replace(number, uuid)
        return text


def tidy(new, old):
    """Times as 1; what the old value leaves open."""
    if isinstance(old, str) and differences.PLACEHOLDER.fullmatch(old) and isinstance(new, str):
        return old
    if isinstance(new, dict):
        old = old if isinstance(old, dict) else {}
        return {k: 1 if k in differences.TIMES and isinstance(v, int) else tidy(v, old.get(k)) for k, v in new.items()}
    if isinstance(new, list):
        old = old if isinstance(old, list) and len(old) == len(new) else [None] * len(new)
        return [tidy(v, o) for v, o in zip(new, old)]
    return new


def play(recording):
    """The file's value with new replies and new requests upstream."""
    names, turns = Names(), recording.value["turns"]
    run = replay.Play([recording])
    with run.model() as model, gateway.Gateway(model, env=run.env, interpreter=run.interpreter) as server:
        for n, (_, turn) in enumerate(run.turns):
            model.reset()
            data = turn.body_bytes()
            if isinstance(turn.request.get("body"), dict) and "model" in turn.request["body"]:
                data = json.dumps(dict(turn.request["body"], model=run.model_of(turn, n))).encode()
            data = data if data is None else names.long(data.decode()).encode()
            reply = talk.ask(server.port, turn.request["method"], names.long(turn.request["path"]), data,
                             turn.request["headers"])
            write_reply(turns[n], reply, names.short(replay.plain_model(reply.text())))
            write_asked(turns[n], json.loads(names.short(replay.plain_model(json.dumps(model.requests())))))
    return recording.value


def write_reply(turn, reply, text):
    old = turn.get("response") or {}
    new = {"status_code": reply.status, "headers": {k.lower(): v for k, v in reply.headers.items()
                                                    if k.lower() in differences.HEADERS}}
    if reply.is_stream():
        new["events"] = [{k: v for k, v in e.items() if k != "sequence_number"} for e in invariants.Stream(text).events]
    else:
        new["body"] = json.loads(text) if text.startswith(("{", "[")) else text or None
    turn["response"] = tidy(new, old)


def write_asked(turn, seen):
    rounds = turn.get("upstream") or []
    if len(seen) != len(rounds):
        print("%s: upstream was asked %d times, not %d" % (turn["filename"], len(seen), len(rounds)), file=sys.stderr)
    for u, q in zip(rounds, seen):
        u["request"] = tidy({"method": q["method"], "path": q["path"], "headers": {}, "body": q["body"]}, u.get("request"))


def written(value):
    """YAML with one JSON value a line, which diff shows well."""
    lines = ["%s: %s" % (k, json.dumps(v, ensure_ascii=False)) for k, v in value.items() if k != "turns"] + ["turns:"]
    for turn in value["turns"]:
        reply = turn["response"]
        lines += ["- filename: " + turn["filename"], "  request: " + json.dumps(turn["request"], ensure_ascii=False),
                  "  response:", "    status_code: %d" % reply["status_code"], "    headers: " + json.dumps(reply["headers"])]
        if "events" in reply:
            lines += ["    events:"] + ["    - " + json.dumps(e, ensure_ascii=False) for e in reply["events"]]
        else:
            lines.append("    body: " + json.dumps(reply["body"], ensure_ascii=False))
        lines += ["  upstream:"] if turn.get("upstream") else []
        for u in turn.get("upstream") or []:
            lines += ["  - request: " + json.dumps(u.get("request", recordings.TO_BE_ASKED), ensure_ascii=False),
                      "    response: " + json.dumps(u["response"], ensure_ascii=False)]
    return "\n".join(lines) + "\n"


def main():
    for path in sys.argv[1:]:
        text = written(play(recordings.Recording(os.path.abspath(path), HERE)))
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


main()
