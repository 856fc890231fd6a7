#!/usr/bin/env python3
"""The abuse suite of the wasm provider: programs that loop, recurse, flood and take. Each ends by its own limit with its
own reason, its worker stays, and the next call in that worker works.

    run.py [--name WORDS] [--only PART]… [-- options of mf-driver]

A program's head says how it must end ("# expect:", as in the conformance suite)."""
import argparse
import json
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import driver  # noqa: E402
import expect  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

OF_REQUEST = ("limits", "displayLastExpression")
# What a program can leave in its worker without being seen: it is looked for after each of them.
AFTER = """
import gc, os, sys, threading
assert os.listdir("/mnt/data") == [], os.listdir("/mnt/data")
assert sys.getrecursionlimit() == 1000 and sys.gettrace() is None and sys.getprofile() is None
import builtins, json, random
assert not any(hasattr(m, "left") for m in (builtins, sys, os)) and "left" not in sys.modules and "LEFT" not in os.environ
assert os.listdir("/tmp") == [] and json.dumps([]) == "[]" and random.random() != 0.13436424411240122
assert not hasattr(sys, "kept") and os.getcwd() == "/mnt/data" and gc.isenabled()
print(1)
"""


class Program:
    def __init__(self, name):
        self.name = name
        with open(os.path.join(HERE, "programs", name + ".py"), encoding="utf-8") as f:
            self.source = f.read()
        self.about = self.source.splitlines()[0].lstrip("# ")
        self.want = json.loads(re.search(r"^# expect: (.*)$", self.source, re.M)[1])


def judge(program, result):
    want = dict(program.want)
    if want.get("truncated") == "any ending":
        want["truncated"] = result["truncated"]
    problems = expect.result(result, want)
    for stream in ("stdout", "stderr"):
        most = want.get("limits", {}).get(stream + "Bytes")
        if most is not None and len(result[stream].encode()) > most:
            problems.append("%s has %d bytes" % (stream, len(result[stream].encode())))
    receipt = result["receipt"]
    if receipt["provider"] != "wasm" or receipt["isolation"] != "full":
        problems.append("the receipt: %s" % receipt)
    return problems


def workers_of(d):
    info = d.info()
    return info["workerPids"], info["workersStarted"]


def run_one(d, program):
    before = workers_of(d)
    request = {key: program.want[key] for key in OF_REQUEST if key in program.want}
    result = d.run_when_free(program.source, content=True, timeout=400, **request)
    problems = judge(program, result)
    after = d.run_when_free(AFTER)
    if (after["status"], after["stdout"]) != ("succeeded", "1\n"):
        problems.append("the next call does not work: %s/%s %r %r" % (
            after["status"], after["reason"], after["diagnostic"], after["stderr"]))
    info = d.info()
    if info["busy"] or info["providerBusy"]:
        problems.append("busy %d, permits taken %d" % (info["busy"], info["providerBusy"]))
    # A limit ends the guest, not the process around it.
    if workers_of(d) != before:
        problems.append("the worker was replaced: %s, now %s" % (before, workers_of(d)))
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="")
    parser.add_argument("--only", action="append")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    places.need_provider("wasm", "driver")
    prefix = args.name + " " if args.name else ""
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    programs = [Program(n[:-3]) for n in sorted(os.listdir(os.path.join(HERE, "programs"))) if n.endswith(".py")]
    programs = [p for p in programs if not args.only or any(o in p.name for o in args.only)]
    with driver.Driver(["--provider", "wasm", "--max-running", "1", *args.options]) as d:
        for program in programs:
            try:
                problems = run_one(d, program)
            except (driver.StartError, driver.DriverGone) as e:
                problems = ["%s: %s" % (type(e).__name__, e)]
            t.check("%s%s: %s" % (prefix, program.name, program.about), problems)
            if d.process.poll() is not None:
                t.ok(False, prefix + "the driver lives")
                return t.done()
    t.check(prefix + "nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
