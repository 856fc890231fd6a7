#!/usr/bin/env python3
"""The conformance programs through the gateway: a scripted model calls code_interpreter with each, and what the model is
told and what the client sees are the contract's, made of what expect.json wants of the provider.

    gateway.py [--provider local|wasm] [--name WORDS] [--only PART]…

Programs that need files, arguments or cancellation are not for this door. Programs with the same limits share a server."""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import cases  # noqa: E402
import driver  # noqa: E402
import expect  # noqa: E402
import gateway as g  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

from run import MAIN  # noqa: E402

MIB = 1 << 20
# What this door cannot say, or does otherwise by its own rules: files, arguments, cut output that is no success.
NOT_HERE = {"argv", "files", "texts", "generate", "displayLastExpression", "cancelAfterMs", "cancelAfterStartMs", "artifacts",
            "rejected", "denied", "sourceName", "runtime"}
LIMITS = {"wallMs", "fuel", "memoryBytes", "stdoutBytes", "stopOnOutput"}
STATUS = {"succeeded": "completed", "timed_out": "incomplete"}
LIMIT_REASONS = {"fuel", "memory", "output", "cpu", "pids", "disk"}
OVER = "Code execution exceeded a resource limit."
RAISED = "Python execution raised an exception."


def is_here(case):
    w = case.want
    return not (NOT_HERE & set(w) or case.files or {"files", "pandas", "plot", "numpy", "processes", "denied"} & set(case.needs) or
                set(w.get("limits", {})) - LIMITS or isinstance(w.get("status"), list) or isinstance(w.get("reason"), list) or
                w["status"] == "cancelled" or len(case.source.encode()) > 65536 or "\0" in case.source or
                (w.get("truncated") and w.get("reason") != "output"))


def settings_of(case):
    limits = case.want.get("limits", {})
    s = {"execution_wall_time_seconds": (limits.get("wallMs", 60000) + 999) // 1000}
    s["max_fuel"] = limits.get("fuel", 10**12)  # where it is not what is tested, time ends a program
    if "memoryBytes" in limits:
        worker = limits["memoryBytes"] + (1024 * MIB if case.provider == "wasm" else 0)
        guest = limits["memoryBytes"] - (0 if case.provider == "wasm" else 1)
        s.update(max_guest_memory_bytes=guest, max_aggregate_guest_memory_bytes=2 * guest,
                 max_worker_memory_bytes=worker, max_aggregate_worker_memory_bytes=2 * worker)
    if "stdoutBytes" in limits:
        s["max_stdout_bytes"] = limits["stdoutBytes"]
    return s


def limit_of_text(case):
    return case.want.get("limits", {}).get("stdoutBytes", 65536)


def wanted_status(want):
    if want["status"] == "failed":
        return "incomplete" if want["reason"] in LIMIT_REASONS else "failed"
    return STATUS[want["status"]]


def stderr_problems(case, status, got):
    """The program's own words, or the contract's where it had none; our line about the time may follow."""
    want = case.want.get("stderr")
    own = got
    if case.want["status"] == "timed_out":
        mark = "[timed out after %d s]" % settings_of(case)["execution_wall_time_seconds"]
        if not own.endswith(mark):
            return ["stderr does not end with %s: %r" % (mark, own)]
        own = own[:-len(mark)].rstrip("\n")
    if want in (None, {}):
        return []
    if want == "" and case.want.get("truncated"):
        return [] if own == "" else ["stderr is %r" % own]
    if want == "":
        fixed = {"completed": "", "failed": RAISED, "incomplete": OVER}[status]
        return [] if own == fixed else ["stderr is %r, expected %r" % (own, fixed)]
    return expect.text("stderr", own, want)


def stdout_problems(case, got):
    want = case.want.get("stdout")
    if case.want.get("truncated"):
        most = limit_of_text(case)
        return [] if got.endswith("\n[output truncated]") and len(got.encode()) <= most else ["stdout is %r" % got[-100:]]
    return expect.text("stdout", got, want) if want is not None else []


def check(server, case):
    item, told, response = server.run_code(case.source)
    try:
        model = json.loads(told)
    except ValueError:
        return ["the model was told %r" % told]
    problems = []
    if list(model) != ["status", "stdout", "stderr"] or not told.startswith('{"status":"%s","stdout":"' % model["status"]):
        return ["the model was told %r" % told[:600]]
    status = wanted_status(case.want)
    if (model["status"], item["status"]) != (status, status):
        problems.append("status %r, item %r, expected %r: %r" % (model["status"], item["status"], status, told[:600]))
        return problems
    problems += stdout_problems(case, model["stdout"]) + stderr_problems(case, status, case.seen(model["stderr"]))
    logs = [{"type": "logs", "logs": model[s]} for s in ("stdout", "stderr") if model[s]]
    if item["outputs"] != logs:
        problems.append("outputs %r, expected %r" % (item["outputs"], logs))
    if set(item) != {"type", "id", "container_id", "code", "status", "outputs"} or item["code"] != case.source:
        problems.append("item %r" % {k: v for k, v in item.items() if k != "code"})
    if response["status"] != "completed":
        problems.append("the response is %s" % response["status"])
    return problems


def groups(todo):
    """[(settings, programs)], those without limits first."""
    found = {}
    for case in todo:
        found.setdefault(json.dumps(settings_of(case), sort_keys=True), []).append(case)
    return sorted(((json.loads(k), v) for k, v in found.items()), key=lambda x: -len(x[1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--provider", choices=("local", "wasm"), default="local")
    parser.add_argument("--name", default="")
    parser.add_argument("--only", action="append")
    args = parser.parse_args()
    places.need_provider(args.provider, "mayfly")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    todo = [c for c in cases.load(MAIN, args.only, args.provider)
            if cases.is_for(c, driver.KIND_CAPS[args.provider]) and is_here(c)]
    ended = []
    with g.Model({"run": g.RUN}) as model:
        for settings, programs in groups(todo):
            with g.Gateway(model, settings=dict(settings, provider=args.provider)) as server:
                for case in programs:
                    try:
                        problems = check(server, case)
                    except (AssertionError, OSError) as e:
                        problems = ["%s: %s" % (type(e).__name__, e)]
                    t.check("%s %s" % (args.name, case.name), problems)
            ended.append(server.process.returncode)
    t.ok(set(ended) == {0}, args.name + " every server ends with 0", ended)
    t.check(args.name + " nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
