#!/usr/bin/env python3
"""The escape suite: each attempt tries ways out of a sandbox; one that works fails the build.

    run.py [--name WORDS] [--only PART]… [-- options of mf-driver]

An attempt prints "ESCAPED …" when something worked and "contained <what>: <errno or reason>" otherwise. Its head may say
"# expect: {json}" (how the run must end, which artifacts may come back), "# first: <setup>" (a program that runs
before it, in a sandbox of its own), "# beside: <setup>" (one that runs at the same time) or "# times: N" (so often, so that the
children that waited already are used up)."""
import argparse
import json
import os
import re
import resource
import sys
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(1, HERE)

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import planted as planted_things  # noqa: E402
import tap  # noqa: E402

CONTAINED = re.compile(r"contained [^\n]+: [^\n]+")


def read(*parts):
    with open(os.path.join(HERE, *parts), encoding="utf-8") as f:
        return f.read()


class Attempt:
    def __init__(self, name):
        self.name = name
        self.source = read("attempts", name + ".py")
        head = dict(re.findall(r"^# (expect|first|beside|times): (.*)$", self.source, re.M))
        self.about = self.source.splitlines()[0].lstrip("# ")
        self.expect = json.loads(head.get("expect", "{}"))
        self.first = head.get("first")
        self.beside = head.get("beside")
        self.times = int(head.get("times", "1"))


class Beside:
    """A setup program that keeps running; ready when it says so."""

    def __init__(self, d, name):
        self.d = d
        self.text = ""
        self.ready = threading.Event()
        self.reply = d.submit(read("setup", name + ".py"), on_event=self._event, stream=True)

    def _event(self, line):
        self.text += line.get("chunk", "")
        if "ready" in self.text:
            self.ready.set()

    def problems(self):
        found = []
        if not self.ready.wait(60):
            found.append("the neighbour did not get ready: %r" % self.text)
        self.d.cancel(self.reply)
        result = self.d.finish(self.reply)
        if result["status"] != "cancelled":
            found.append("the neighbour ended as %s/%s" % (result["status"], result["reason"]))
        if "CONNECTED" in result["stdout"]:
            found.append("the neighbour was reached: %r" % result["stdout"])
        return found


def judge(attempt, result, secret):
    out, err = result["stdout"], result["stderr"]
    problems = [line for line in (out + err).splitlines() if "ESCAPED" in line]
    for line in out.splitlines():
        if line and not CONTAINED.fullmatch(line) and "ESCAPED" not in line:
            problems.append("neither contained nor escaped: %r" % line[:300])
    if not CONTAINED.search(out):
        problems.append("it reported nothing")
    if secret in out or secret in err:
        problems.append("the secret is in the output")
    for name, data in result["contents"].items():
        if data is None or secret.encode() in data or b"root:" in data:
            problems.append("artifact %s holds what is not its own" % name)
        if "artifactTexts" in attempt.expect and data.decode(errors="replace") not in attempt.expect["artifactTexts"]:
            problems.append("artifact %s: unexpected content %r" % (name, data[:80]))
    if "artifacts" in attempt.expect and sorted(result["contents"]) != attempt.expect["artifacts"]:
        problems.append("artifacts are %s" % sorted(result["contents"]))
    if not attempt.expect.get("anyEnd"):
        want = dict({"status": "succeeded"}, **{k: attempt.expect[k] for k in ("status", "signal", "reason")
                                                if k in attempt.expect})
        for key, value in want.items():
            if result[key] != value:
                problems.append("%s is %r, expected %r" % (key, result[key], value))
    if result["reason"] in ("worker_crash", "unavailable") and not attempt.expect.get("anyEnd"):
        problems.append("the machinery was hurt: %s" % result.get("diagnostic"))
    if problems:
        problems.append("it ended as %s/%s exit %s signal %s, stderr %r" % (
            result["status"], result["reason"], result["exitCode"], result["signal"], err[-1500:]))
    return problems


def outside_view(t, d, secret, prefix):
    """What the host sees of a guest and of the machinery."""
    ready = threading.Event()
    reply = d.submit("import time\nprint(1, flush=True)\ntime.sleep(60)\n", on_event=lambda line: ready.set(), stream=True)
    ready.wait(60)
    info = d.info()
    machinery = [info["supervisorPid"], *leaks.descendants(info["supervisorPid"])]
    problems, guests = [], 0
    for pid in machinery:
        try:
            with open("/proc/%d/environ" % pid, "rb") as f:
                if secret.encode() in f.read():
                    problems.append("process %d has the secret in its environment" % pid)
            with open("/proc/%d/status" % pid) as f:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        except OSError:
            continue
        if status["Name"] == "python":  # a guest is named so when its sandbox stands; the zygotes have their program's name
            guests += 1
            if status.get("Seccomp") != "2" or int(status.get("Seccomp_filters", "2")) < 2:
                problems.append("guest %d has not both parts of the filter" % pid)
            for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                if int(status[name], 16) != 0:
                    problems.append("guest %d has %s %s" % (pid, name, status[name]))
            if status["NoNewPrivs"] != "1":
                problems.append("guest %d has no no_new_privs" % pid)
            with open("/proc/%d/limits" % pid) as f:
                core = next(line.split()[4:6] for line in f if line.startswith("Max core file size"))
            if core != ["1", "1"] and resource.getrlimit(resource.RLIMIT_CORE)[1] != 0:
                problems.append("guest %d may be dumped: RLIMIT_CORE %s, and only 1 forbids it" % (pid, core))
            if "0" in status["Uid"].split():
                problems.append("guest %d is root outside" % pid)
            if len(status["NSpid"].split()) < 3:
                problems.append("guest %d is in no pid namespace of its own" % pid)
            for kind in ("mnt", "pid", "net", "ipc", "uts", "user"):
                if os.readlink("/proc/%d/ns/%s" % (pid, kind)) == os.readlink("/proc/self/ns/" + kind):
                    problems.append("guest %d shares the host's %s namespace" % (pid, kind))
            with open("/proc/%d/oom_score_adj" % pid) as f:
                if int(f.read()) < 500:
                    problems.append("guest %d is not the first to go when memory is short" % pid)
    if guests == 0:
        problems.append("no guest was seen among %d" % len(machinery))
    t.check(prefix + "outside view: guests have no power, the machinery no secret", problems)
    with open("/proc/%d/environ" % info["supervisorPid"], "rb") as f:
        environ = f.read()
    t.ok(environ.strip(b"\0") == b"", prefix + "outside view: the supervisor has an empty environment", environ)
    d.cancel(reply)
    d.finish(reply)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="")
    parser.add_argument("--only", action="append")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    places.need("driver", "zygote", "runtime")
    prefix = args.name + " " if args.name else ""
    t = tap.Tap()
    if "--as-nobody" in args.options and os.getuid() != 0:
        tap.skip_all("becoming another user needs root")
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    planted = planted_things.Planted()
    attempts = [Attempt(n[:-3]) for n in sorted(os.listdir(os.path.join(HERE, "attempts"))) if n.endswith(".py")]
    try:
        fds = (planted.inherited, planted.inherited_folder)
        for fd in fds:
            os.set_inheritable(fd, True)
        try:
            d = driver.Driver(args.options, pass_fds=fds, env=driver.option_env(MF_PLANTED=planted.secret,
                                                                               OPENAI_API_KEY=planted.secret))
        except driver.NotReady as e:
            t.check(prefix + "the provider starts", [str(e)])
            return t.done()
        with d:
            info = d.info()
            pids = [p for p in (d.pid, os.getpid(), info["supervisorPid"], info["zygoteStdlibPid"],
                                info["zygoteDataPid"]) if p > 400]
            restarts = info["zygoteRestarts"]
            files = {"esc.py": read("guest", "esc.py"), "planted.json": json.dumps(planted.facts(pids))}
            for attempt in attempts:
                if args.only and not any(o in attempt.name for o in args.only):
                    continue
                problems = []
                try:
                    beside = Beside(d, attempt.beside) if attempt.beside else None
                    if beside:
                        beside.ready.wait(60)
                    if attempt.first:
                        first = d.run(read("setup", attempt.first + ".py"), runtime="data")
                        if first["stdout"] == "":
                            problems.append("the program before it failed: %r" % first["stderr"])
                    for _ in range(attempt.times):
                        result = d.run(attempt.source, files=files, content=True,
                                       runtime="data" if attempt.first else "auto", limits={"wallMs": 60000})
                        problems += judge(attempt, result, planted.secret)
                    if beside:
                        problems += beside.problems()
                    if d.run("print(1)")["stdout"] != "1\n":
                        problems.append("the next task does not work")
                    info = d.info()
                    if info["zygoteRestarts"] != restarts:
                        problems.append("a zygote was restarted: it had been hurt")
                        restarts = info["zygoteRestarts"]
                except (driver.StartError, driver.DriverGone) as e:
                    problems.append("%s: %s" % (type(e).__name__, e))
                problems += planted.problems()
                planted.hits.clear()
                t.check("%s%s: %s" % (prefix, attempt.name, attempt.about), problems)
                if d.process.poll() is not None:
                    t.ok(False, prefix + "the driver lives")
                    return t.done()
            if not args.only:
                outside_view(t, d, planted.secret, prefix)
    finally:
        planted.close()
    t.check(prefix + "nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
