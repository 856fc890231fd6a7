#!/usr/bin/env python3
"""Forged frames: the provider's workers are fake_worker.py, a real process in the worker's place that does what a guest
would do that broke out of WebAssembly (worker_acts.py). The provider lives, the call ends as worker_crash with the fixed
words, nothing of the forger's is in the result but its own output, nothing is left, and the next call works."""
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402
import worker_acts  # noqa: E402

CRASHED = "the sandbox worker failed"  # MF_WASM_DIAG_CRASHED
OPTIONS = ["--provider", "wasm", "--max-running", "2"]
STARTS = {  # what the refusal says
    "start_exit": "ended before it was ready", "start_signal": "ended before it was ready",
    "start_close": "ended before it was ready", "start_garbage": "ended before it was ready",
    "start_zero": "ended before it was ready", "start_version": "ended before it was ready",
    "start_not_joined": "not in its control group", "start_hello_twice": "ended before it was ready",
    "start_ready_first": "ended before it was ready", "start_ready_no_end": "ended before it was ready",
    "start_fatal": "cannot start: \\x1b[31mred\\x0alines\\xff", "start_fatal_no_end": "ended before it was ready",
    "start_large": "ended before it was ready", "start_descriptors": "ended before it was ready",
    "start_after_go": "ended before it was ready",
}
SAID = {"call_exit_late": "before\n", "call_output_over": None, "call_output_dropped_twice": "x"}
FLAT_PATIENCE_S = 20


class Program:
    """A file that starts fake_worker.py with one behaviour for its start."""

    def __init__(self, folder, start=""):
        self.path = os.path.join(folder, start or "fake")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write("#!%s -BIS\nimport sys\nsys.path.insert(0, %r)\nimport fake_worker\nfake_worker.main(%r)\n"
                    % (sys.executable, HERE, start))
        os.chmod(self.path, 0o755)


def fds_of(d):
    """What is open in the driver, by kind; sockets and pidfds of the workers are replaced, so kinds are counted."""
    found = {}
    folder = "/proc/%d/fd" % d.pid
    for name in os.listdir(folder):
        try:
            kind = os.readlink(os.path.join(folder, name)).split("[")[0].split(":")[0]
        except OSError:
            continue
        if kind.startswith("/sys/"):
            continue  # a place's group is made when it is first needed, and kept
        found[kind] = found.get(kind, 0) + 1
    return found


def flat_problems(d, before, most_workers):
    """When nothing runs: descriptors as before, no process but the workers, none of them dead, no permit taken."""
    end = time.monotonic() + FLAT_PATIENCE_S
    while True:
        problems = []
        info = d.info()
        below = leaks.descendants(d.pid)
        grown = {k: (before.get(k, 0), n) for k, n in fds_of(d).items() if n > before.get(k, 0)}
        if grown and info["workers"] <= most_workers:
            problems.append("descriptors grew: %s" % grown)
        if info["busy"] or info["providerBusy"]:
            problems.append("busy %d, permits taken %d" % (info["busy"], info["providerBusy"]))
        strange = set(below) - set(info["workerPids"])
        if strange or any(state == "Z" for _, state, _ in below.values()):
            problems.append("processes that are no workers: %s" % {p: below[p] for p in strange})
        if not problems or time.monotonic() > end:
            return problems
        time.sleep(0.05)


def check_next(d):
    result = d.run("print(1)")
    if (result["status"], result["stdout"]) != ("succeeded", "1\n"):
        return ["the next call does not work: %s/%s %r" % (result["status"], result["reason"], result["diagnostic"])]
    return []


def check_calls(t, folder):
    with driver.Driver([*OPTIONS, "--wasm-program", Program(folder).path]) as d:
        d.run("print(1)")
        before = fds_of(d)
        for name in sorted(n for n in vars(worker_acts) if n.startswith("call_")):
            beside = d.submit("print(1)")
            result = d.run("# fake: %s\n" % name, content=True,
                           limits={"stdoutBytes": 1000000, "artifactCount": 20})
            problems = [] if d.finish(beside)["status"] == "succeeded" else ["the call beside it did not succeed"]
            if (result["status"], result["reason"], result["diagnostic"]) != ("failed", "worker_crash", CRASHED):
                problems.append("%s/%s %r" % (result["status"], result["reason"], result["diagnostic"]))
            if SAID.get(name, "") is not None and (result["stdout"], result["stderr"]) != (SAID.get(name, ""), ""):
                problems.append("its output: %r %r" % (result["stdout"][:200], result["stderr"][:200]))
            if len(result["stdout"]) > 1000000 or result["artifacts"] or result["exitCode"] is not None:
                problems.append("%d bytes, %s, exit code %s" % (len(result["stdout"]), result["artifacts"],
                                                                result["exitCode"]))
            problems += check_next(d) + flat_problems(d, before, 1)
            t.check("%s: %s" % (name, (vars(worker_acts)[name].__doc__ or "").split(":")[0]), problems)


def check_believed(t, d, before):
    def run(name, limits=None):
        return d.run("# fake: %s\n" % name, content=True, files={"in.txt": "x"}, limits=limits or {})

    def after(name, problems):
        t.check(name, problems + check_next(d) + flat_problems(d, before, 1))

    for name in ("fine_done_twice", "fine_output_after_done"):
        r = run(name)
        after(name, [] if r["status"] == "succeeded" and not r["stdout"] else ["%s" % r])
    r = run("fine_forged_word")
    after("fine_forged_word", [] if (r["status"], r["reason"], r["exitCode"], r["stdout"]) ==
          ("failed", "exit", 42, "forged\n") else ["%s" % r])
    r = run("fine_word_memory")
    after("fine_word_memory", [] if (r["status"], r["reason"]) == ("failed", "memory") else ["%s" % r])
    if d.info()["memoryControl"] != "rlimit":
        for _ in range(2):
            r = run("fine_takes_memory")
            after("fine_takes_memory: a worker that the kernel ends for its memory is a limit",
                  [] if (r["status"], r["reason"]) == ("failed", "memory") else ["%s" % r])
            r = run("call_abort")
            after("and one that is killed after it, in the same place, is a crash",
                  [] if (r["status"], r["reason"]) == ("failed", "worker_crash") else ["%s" % r])
    r = run("fine_files_wrong")
    names = {a["path"]: r["contents"][a["path"]] for a in r["artifacts"]}
    rejected = {a["path"]: a["reason"] for a in r["rejectedArtifacts"]}
    problems = [] if names == {"l-good": b"good"} else ["artifacts %s" % names]
    problems += ["%s: %r" % (n, rejected.get(n)) for n in ("a-unsealed", "b-half-sealed", "c-pipe", "d-pipe", "e-socket",
                 "f-null", "g-path", "h-folder", "i-regular", "j-own-socket") if "sealed" not in rejected.get(n, "")]
    problems += [] if "k-petabyte" in rejected and rejected.get("l-good") == "another file has that name" else ["%s" % rejected]
    after("fine_files_wrong: only a sealed file becomes an artifact", problems)
    r = run("fine_files_names")
    names = [a["path"] for a in r["artifacts"]]
    bad = [n for n in names if n.startswith(("/", ".")) or ".." in n.split("/") or "\n" in n or "\x1b" in n or len(n) > 1023]
    problems = ["artifacts %s" % names] if bad or "good" not in names else []
    problems += ["%d refused" % len(r["rejectedArtifacts"])] if len(r["rejectedArtifacts"]) < 14 else []
    after("fine_files_names: names that are no relative paths are refused", problems)
    r = run("fine_file_of_code", {"artifactBytes": 1 << 20})
    problems = [] if [a["path"] for a in r["artifacts"]] == ["job"] else ["%s" % r["artifacts"]]
    after("fine_file_of_code: what a worker holds anyway is all that it can give", problems)
    r = run("fine_job_is_sealed")
    after("fine_job_is_sealed", [] if r["stdout"] == "refused " * 4 + "refused" else [r["stdout"]])


def check_silent(t, d, before):
    """A stopped worker ends by the grace after the call's own time; nothing is sooner, so this takes its while."""
    replies = [(name, d.submit("# fake: %s\n" % name, limits={"wallMs": 100})) for name in ("fine_stops", "fine_nothing")]
    for name, reply in replies:
        r = d.finish(reply)
        problems = [] if (r["status"], r["reason"]) == ("failed", "worker_crash") and "did not answer" in r["diagnostic"] \
            else ["%s/%s %r" % (r["status"], r["reason"], r["diagnostic"])]
        t.check(name + ": ends by the grace", problems)
    t.check("after both a call works", check_next(d) + flat_problems(d, before, 1))


def check_starts(t, folder):
    for name, words in STARTS.items():
        problems = []
        try:
            with driver.Driver([*OPTIONS, "--wasm-program", Program(folder, name).path]) as d:
                problems.append("it is ready: %s" % d.info())
                if name == "start_not_joined" and d.info()["memoryControl"] == "rlimit":
                    problems = []  # there is no group to join
        except driver.NotReady as e:
            if e.code != "unavailable" or words not in e.message or "\x1b" in e.message:
                problems.append("%s: %r" % (e.code, e.message))
        problems += leaks.strays_left()
        t.check("%s: the provider says why it is not ready" % name, problems)
    for path in ("/nonexistent/worker", HERE):
        try:
            with driver.Driver([*OPTIONS, "--wasm-program", path]):
                t.ok(False, "a program that cannot be executed is refused")
        except driver.NotReady as e:
            t.ok(e.code == "unavailable" and "execute" in e.message, "a program that cannot be executed is refused", e)


def main():
    places.need_provider("wasm", "driver")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with tempfile.TemporaryDirectory(prefix="forged-") as folder:
        os.chmod(folder, 0o755)
        check_calls(t, folder)
        with driver.Driver([*OPTIONS, "--wasm-program", Program(folder).path]) as d:
            d.run("print(1)")
            fds = fds_of(d)
            check_believed(t, d, fds)
            check_silent(t, d, fds)
        check_starts(t, folder)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
