#!/usr/bin/env python3
"""The cases that users of other code interpreters reported, through the Responses door: 1 to 9 as far as text can show them
(their files are the business of the conformance suite), and 10, a streamed call as clients parse it."""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402
import scenarios  # noqa: E402

PROGRAMS = os.path.join(places.TESTS, "conformance", "programs")
OVER = "Code execution exceeded a resource limit."
t = tap.Tap()

WORKBOOK = """import pandas as pd
with pd.ExcelWriter("in.xlsx") as w:
    pd.DataFrame({"a": [1]}).to_excel(w, sheet_name="Sheet1", index=False)
    pd.DataFrame({"city": ["Łódź", "周"], "n": [3, 4], "rate": [0.5, 1.25]}).to_excel(w, sheet_name="Sheet2", index=False)
"""


def program(name):
    with open(os.path.join(PROGRAMS, name, "main.py"), encoding="utf-8") as f:
        return f.read()


def logs(item):
    return [o["logs"] for o in item["outputs"]]


class Case:
    """One program through the door; what the model was told must be what the item shows."""

    def __init__(self, g, code):
        begin = time.monotonic()
        self.item, text, self.response = g.run_code(code)
        self.seconds = time.monotonic() - begin
        self.told = json.loads(text)
        self.problems = []
        told = [self.told.get(k) for k in ("stdout", "stderr") if self.told.get(k)]
        if self.told.get("status") != self.item["status"] or told != logs(self.item) or self.item["code"] != code:
            self.problems.append("the item and what the model was told differ: %s %s" % (self.item["status"], self.told.get("status")))

    def expect(self, condition, words):
        if not condition:
            self.problems += [words, json.dumps(self.told, ensure_ascii=False)[:1500]]

    def is_told(self, status, stdout, stderr=""):
        self.expect((self.told.get("status"), self.told.get("stdout"), self.told.get("stderr")) == (status, stdout, stderr),
                    "expected %s, %r, %r" % (status, stdout, stderr))


def next_works(g):
    item = g.run_code("print(1)")[0]
    return [] if (item["status"], logs(item)) == ("completed", ["1\n"]) else ["the next call: %s" % item]


def no_guest_left(g):
    """No process of a program is left below the server: only its machinery is."""
    def look():
        names = [leaks.command_of(p) for p in leaks.descendants(g.pid)]
        odd = [n for n in names if "sleep" in n]
        m = g.metrics()
        busy = [v for k, v in m.items() if "permits" in k and ("busy" in k or "in_use" in k)]
        return not odd and not any(busy), "%s, permits %s" % (odd, busy)
    return g.until("a process is left", look)


def simple(g):
    c = Case(g, program("plot-chinese"))
    c.is_told("completed", "True True\nTrue\n")
    t.check("case 1: Chinese text in a plot", c.problems)

    for name, printed, n in (("plot-show", "end\n", 2), ("plot-left-open", "3\n", 1)):
        c = Case(g, program(name))
        out = c.told.get("stdout", "")
        c.expect(c.item["status"] == "completed" and c.told.get("stderr") == "" and out.startswith(printed), "the run")
        c.expect("%d figure%s" % (n, "s" if n > 1 else "") in out and "not returned" in out, "says what was made and is not returned")
        t.check("case 2: figures that were shown and not saved (%s)" % name, c.problems)

    c = Case(g, WORKBOOK + program("excel-round-trip"))
    out = c.told.get("stdout", "")
    c.expect(c.item["status"] == "completed" and out.startswith("['Sheet1', 'Sheet2'] {'city'") and out.endswith("\nTrue\n"), "the round trip")
    t.check("case 3: Excel round trip", c.problems)

    c = Case(g, program("characters-below-cap"))
    c.is_told("completed", "ab" + "☕" * 100_000)
    t.check("case 6: 300,002 bytes of wide characters, below the cap", c.problems)
    c = Case(g, program("characters-cut-65536"))
    out = c.told.get("stdout", "")
    c.expect(c.item["status"] == "incomplete" and out.endswith("\n[output truncated]"), "the mark")
    kept = out[:-len("\n[output truncated]")]
    c.expect(kept == "ab" + "☕" * (len(kept) - 2) and len(out.encode()) <= 1 << 20 and (1 << 20) - len(out.encode()) < 3, "whole characters")
    t.check("case 6: a cap inside a character", c.problems)
    status, events = g.respond(model="run", input=program("characters-cut-65536"), tools=[gateway.TOOL], stream=True)
    t.check("case 6: and streamed", gateway.broken(events) + (
        [] if logs(next(e["item"] for e in events if e["type"] == "response.output_item.done"))[0] == out else ["another text"]))

    c = Case(g, program("background-child"))
    c.is_told("completed", "launched\n")
    c.expect(c.seconds < 30, "it took %.1f s" % c.seconds)
    t.check("case 7: a background child that holds stdout", c.problems + no_guest_left(g) + next_works(g))

    c = Case(g, program("artifacts-links"))
    c.is_told("completed", "")
    t.check("case 8: links in place of files", c.problems + next_works(g))

    c = Case(g, program("imports"))
    c.is_told("completed", "{\"a\": 0.5} 2026-01-02 00:00:00+08:00 []\n")
    t.check("case 9: ordinary imports", c.problems)
    c = Case(g, "import socket\nsocket.create_connection(('203.0.113.7', 443))\n")
    c.expect(c.item["status"] == "failed" and "203.0.113.7:443" in c.told.get("stderr", "").splitlines()[-1], "names what was refused")
    t.check("case 9: what is refused is named", c.problems)


def timeouts(g):
    c = Case(g, program("limit-wall-tree"))
    c.expect((c.item["status"], c.told.get("stdout")) == ("incomplete", "parent up\n"), "the end")
    c.expect(c.seconds < 30, "it took %.1f s" % c.seconds)
    t.check("case 4: a timeout ends the whole tree", c.problems + no_guest_left(g) + next_works(g))
    c = Case(g, program("limit-wall"))
    c.expect((c.item["status"], c.told.get("stdout")) == ("incomplete", "step one done\n"), "what was printed is kept")
    c.expect(OVER in c.told.get("stderr", "") and "timed out after 1 s" in c.told.get("stderr", ""), "says that it timed out after 1 s")
    t.check("case 5: output before a timeout is kept", c.problems + next_works(g))


def case_10(g, model):
    for name in ("case10", "case10-bytes", "case10-odd"):
        model.reset()
        status, events = g.respond(model=name, input="What is it?", tools=[gateway.TOOL], stream=True,
                                   include=["code_interpreter_call.outputs"])
        problems = gateway.broken(events)
        problems += ["%s reached the client" % e["type"] for e in events
                     if "function_call" in e["type"] or e.get("item", {}).get("type") == "function_call"]
        done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
        item = done[0] if done else {}
        if (item.get("type"), item.get("status"), item.get("code"), item.get("outputs")) != (
                "code_interpreter_call", "completed", scenarios.CASE_10_CODE, [{"type": "logs", "logs": scenarios.CASE_10_OUTPUT}]):
            problems.append("the item: %s" % item)
        final = events[-1].get("response", {})
        if final.get("output", [None])[0] != item or final["output"][-1]["content"][0]["text"] != "It printed " + scenarios.CASE_10_OUTPUT:
            problems.append("the terminal event: %s" % final.get("output"))
        asked = [r["body"] for r in model.requests()]
        if len(asked) != 2:
            problems.append("%d requests went upstream" % len(asked))
        else:
            call, output = asked[1]["input"][-2:]
            if (call["type"], call["call_id"], call["arguments"]) != ("function_call", "call_odd", "".join(scenarios.PIECES)):
                problems.append("the call upstream: %s" % call)
            told = json.loads(output["output"])
            if (output["type"], output["call_id"], told) != (
                    "function_call_output", "call_odd", {"status": "completed", "stdout": scenarios.CASE_10_OUTPUT, "stderr": ""}):
                problems.append("the output upstream: %s" % output)
            if [tool["type"] for tool in asked[0]["tools"]] != ["function"]:
                problems.append("the tools upstream: %s" % asked[0]["tools"])
        t.check("case 10: a call in odd pieces, raw (%s)" % name, problems)
    status, r = g.respond(model="case10", input="What is it?", tools=[gateway.TOOL])
    t.ok(r["output"][0]["outputs"] == [{"type": "logs", "logs": scenarios.CASE_10_OUTPUT}], "case 10: outputs without include, as JSON", r)


def main():
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with gateway.Model(scenarios.ALL) as model:
        with gateway.Gateway(model, settings={"pool_data": 2, "max_stdout_bytes": 1 << 20, "execution_wall_time_seconds": 60}) as g:
            simple(g)
            case_10(g, model)
        with gateway.Gateway(model, settings={"execution_wall_time_seconds": 1}) as g:
            timeouts(g)
            t.ok(g.stop() == 0, "the gateway ends well", g.log()[-2000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
