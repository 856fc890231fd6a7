#!/usr/bin/env python3
"""The conformance suite: each program through a provider, each result against its expect.json.

    run.py [--door driver|cli|server|plain] [--name WORDS] [--jobs N] [--only PART]… [-- options of mf-driver]

A program that needs what this kind of provider has not (its capabilities) is no part of its suite; one whose needs this
instance alone does not have is a skip. Where one kind of provider does otherwise, expect.json says so under "on", with
the reason, and docs/providers.md has a row. The door
"server" is the command with a server of its user that does the work: the same results as without one; of the options
it takes --provider alone. The door
"plain" runs the programs with an ordinary interpreter (MF_PLAIN_PYTHON), unprotected, to check the expectations
themselves; it is for the maintainers of the suite and looks only at the output and the exit code."""
import argparse
import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import cases  # noqa: E402
import cli  # noqa: E402
import driver  # noqa: E402
import expect  # noqa: E402
import gateway  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

MAIN = "/mnt/task/main.py"  # how tracebacks name the program


class DriverDoor:
    def __init__(self, options):
        self.driver = driver.Driver(options)
        self.caps = self.driver.caps

    def run(self, case):
        return self.driver.run_when_free(case.source, files=case.files, content=True, **case.request())

    def next_task(self):
        return self.driver.run_when_free("print(1)")["stdout"] == "1\n"

    def close(self):
        return self.driver.close()


class CliDoor:
    """Every program in a provider of its own: slower, and the way of a person. `options` are those of the command."""

    def __init__(self, options):
        self.caps = (1 << 32) - 1
        self.options = options

    def limits(self, case):
        limits = dict(case.want.get("limits", {}))
        if case.provider == "wasm":
            limits.setdefault("fuel", 10**12)  # where it is not what is tested, time ends a program
        return limits

    def run(self, case):
        result = cli.run(case.source, files=case.files, argv=case.want.get("argv", ()), limits=self.limits(case),
                         display_last=case.want.get("displayLastExpression", False), options=self.options)
        if result["exit"] != cli.expected_exit(result):
            raise AssertionError("the command's exit status is %d for %s/%s" % (result["exit"], result["status"],
                                                                                result["reason"]))
        return result

    def next_task(self):
        return True

    def close(self):
        return 0


class ServerDoor(CliDoor):
    """The command, and a server on its user's socket. --server names the socket: the command may not do the work itself.
    The provider is the server's, and so no option of the command."""

    def __init__(self, options):
        # One of the two Pythons at a time may be loading: programs wait in the queue meanwhile.
        self.server = gateway.Gateway("http://127.0.0.1:1", settings={"provider": driver.provider_of(options),
                                                                      "pool_data": 1, "max_worker_memory_bytes": 2 << 30,
                                                                      "max_aggregate_worker_memory_bytes": 4 << 30})
        super().__init__(["--server", "unix:" + os.path.join(self.server.home, "mayfly.sock")])

    @staticmethod
    def lacks(case):
        """What the request of a task has no word for; None when it can be run."""
        if case.want.get("argv"):
            return "arguments"
        other = set(case.want.get("limits", {})) - {"wallMs", "memoryBytes"}
        return "limits.%s" % sorted(other)[0] if other else None

    def limits(self, case):
        return dict(case.want.get("limits", {}))

    def run(self, case):
        result = super().run(case)
        provider = (result["receipt"] or {}).get("provider")
        if provider != case.provider:
            raise AssertionError("the provider was %s" % provider)
        return result

    def close(self):
        return self.server.stop()


def undocumented(todo, provider):
    """Differences of this provider that docs/providers.md does not tell of, and those that it tells of wrongly."""
    with open(os.path.join(places.ROOT, "docs", "providers.md"), encoding="utf-8") as f:
        rows = [line.split(" | ") for line in f if line.startswith("| `")]
    told = {row[0].strip("| `"): row[1] for row in rows if len(row) == 3 and row[1].startswith(provider + ": ")}
    real = {c.name: provider + ": " + c.other["because"] for c in todo if c.other}
    return (["no row for %s: %s" % (n, real[n]) for n in sorted(set(real) - set(told))] +
            ["a row for %s, which is no different" % n for n in sorted(set(told) - set(real))] +
            ["%s: %r, expected %r" % (n, told[n], real[n]) for n in sorted(set(told) & set(real)) if told[n] != real[n]])


class PlainDoor:
    def __init__(self, options):
        self.caps = (1 << 32) - 1

    def run(self, case):
        folder = tempfile.mkdtemp(prefix="mf-plain-")
        try:
            data = os.path.join(folder, "data")
            os.mkdir(data)
            for name, content in case.files.items():
                path = os.path.join(data, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as f:
                    f.write(content)
            main = os.path.join(data, "main.py")
            with open(main, "w", encoding="utf-8", newline="") as f:
                f.write(case.source)
            env = dict(os.environ, PYTHONUTF8="1", MPLBACKEND="Agg", OPENBLAS_NUM_THREADS="1", LANG="C.UTF-8",
                       PYTHONDONTWRITEBYTECODE="1", TZ="UTC")
            done = subprocess.run([os.environ.get("MF_PLAIN_PYTHON", sys.executable), main, *case.want.get("argv", ())],
                                  cwd=data, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                  check=False)
            killed = -done.returncode if done.returncode < 0 else None
            out, err = (s.decode("utf-8", "replace").replace(main, MAIN).replace(data, "/mnt/data")
                        for s in (done.stdout, done.stderr))
            return {"status": "succeeded" if done.returncode == 0 else "failed",
                    "reason": case.want.get("reason"), "exitCode": None if killed else done.returncode,
                    "signal": killed, "stdout": out, "stderr": err, "truncated": case.want.get("truncated", {}),
                    "artifacts": [], "rejectedArtifacts": [], "denied": [], "usage": {"durationMs": 0},
                    "receipt": {}, "plain": True}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def next_task(self):
        return True

    def close(self):
        return 0


def plain_wants(want):
    """What an unprotected interpreter can be held to."""
    return {k: v for k, v in want.items() if k in ("status", "exitCode", "signal", "stdout", "stderr", "about")}


def check(door, case, is_plain):
    missing = [n for n in case.needs if not door.caps & driver.CAPS[n]]
    if missing:
        return "declared difference: the provider has no " + ", ".join(missing), []
    problems, outputs = [], []
    want = plain_wants(case.want) if is_plain else case.want
    for _ in range(case.repeat["times"]):
        try:
            got = door.run(case)
        except (driver.StartError, driver.DriverGone, cli.CliError, AssertionError, subprocess.TimeoutExpired) as e:
            return None, ["%s: %s" % (type(e).__name__, e)]
        if is_plain:
            got["truncated"] = {"stdout": False, "stderr": False}
        got["stderr"] = case.seen(got["stderr"])
        problems += expect.result(got, want)
        outputs.append(got["stdout"])
    if case.repeat.get("distinct") and len(set(outputs)) != len(outputs):
        problems.append("two runs gave the same: %s" % outputs)
    if case.want.get("nextTask") and not door.next_task():
        problems.append("the next task does not work")
    return None, problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--door", choices=("driver", "cli", "server", "plain"), default="driver")
    parser.add_argument("--name", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append")
    parser.add_argument("--main", default=MAIN)
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()

    provider = driver.provider_of(args.options)
    if args.door in ("driver", "cli", "server"):
        places.need_provider(provider, "driver" if args.door == "driver" else "mayfly")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    try:
        door = {"driver": DriverDoor, "cli": CliDoor, "server": ServerDoor, "plain": PlainDoor}[args.door](args.options)
    except driver.NotReady as e:
        t.check("the provider starts", [str(e)])
        return t.done()
    every = cases.load(args.main, args.only, provider)
    todo = [c for c in every if args.door == "plain" or cases.is_for(c, driver.KIND_CAPS[provider])]
    if provider != "local":
        print("# %d of %d programs; what the rest needs this provider has not" % (len(todo), len(every)))
        if args.door == "driver":
            t.ok({n for n, bit in driver.CAPS.items() if door.caps & bit} == driver.KIND_CAPS[provider],
                 args.name + " the capabilities are those of this kind", door.caps)
        if not args.only:
            t.check(args.name + " docs/providers.md tells of every difference", undocumented(every, provider))
    todo = [c for c in todo if (c.plain if args.door == "plain" else
                                                              ("cli" if args.door == "server" else args.door) in c.doors)]
    if args.door == "server":  # what a task cannot say is not a program of this door
        for case in [c for c in todo if door.lacks(c)]:
            print("# %s: a task has no %s" % (case.name, door.lacks(case)))
            todo.remove(case)

    def one(case):
        skipped, problems = check(door, case, args.door == "plain")
        name = (args.name + " " if args.name else "") + case.name
        if skipped:
            t.skip(name, skipped)
        else:
            t.check(name, problems)

    together = [c for c in todo if not c.alone]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for done in [pool.submit(one, c) for c in together]:
            done.result()
    for case in todo:
        if case.alone:
            one(case)
    t.ok(door.close() == 0, args.name + " the provider closes in order")
    t.check(args.name + " nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
