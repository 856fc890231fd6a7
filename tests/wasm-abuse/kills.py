#!/usr/bin/env python3
"""kill -9 of workers of the wasm provider at random moments with several calls in flight, SIGSTOP, cancels at random
moments, and kill -9 of the provider. A killed call is a worker_crash in fixed words, every other call has its right answer,
its place comes back, the next call works, and nothing is left.

    run: kills.py [--kills N] [--cancels N] [--seed N] [-- options of mf-driver]

Only processes of our own driver are hurt: their numbers come from its info."""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

CRASHED = "the sandbox worker failed"
SILENT = "the sandbox worker did not answer"
PLACES = 4
PATIENCE_S = 60
MARK = "words-of-the-guest"
LOAD = [  # (source, stdout)
    ("print('%s', flush=True)\nimport time\ntime.sleep(0.2)\n" % MARK, MARK + "\n"),
    ("x = 0\nfor i in range(300000):\n    x += i\nprint(x)\n", "44999850000\n"),
    ("open('f', 'w').write('%s' * 10000)\nopen('g', 'wb').write(bytes(3000000))\nprint('files')\n" % MARK, "files\n"),
    ("for i in range(3000):\n    print('%s')\n" % MARK, (MARK + "\n") * 3000),
    ("import os\nwhile True:\n    os.write(1, b'%s\\n' * 100)\n" % MARK, None),
    ("kept = [bytes(1 << 20) for _ in range(100)]\nprint(len(kept))\n", "100\n"),
]
LIMITS = {"wallMs": 20000, "fuel": 2000000000, "stdoutBytes": 200000}


def judge(result, stdout):
    """(is crashed, problems) of a call that may have been killed."""
    if result["reason"] == "worker_crash":
        good = (result["status"], result["diagnostic"], result["exitCode"]) == ("failed", CRASHED, None)
        return True, [] if good and not result["artifacts"] else ["a crash that reads: %s %r %r %s" % (
            result["status"], result["diagnostic"], result["exitCode"], result["artifacts"])]
    if stdout is None:
        return False, [] if result["reason"] == "fuel" else ["it ended as %s" % result["reason"]]
    good = (result["status"], result["stdout"]) == ("succeeded", stdout)
    return False, [] if good else ["%s/%s %r %r" % (result["status"], result["reason"], result["stdout"][:200],
                                                    result["stderr"][-300:])]


def memfds_of(pid):
    found = 0
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            found += os.readlink("/proc/%d/fd/%s" % (pid, name)).startswith("/memfd:")
        except OSError:
            pass
    return found


def calm_problems(d, memfds):
    """Waits until nothing runs: no permit taken, no process but workers, no dead one, no memfd more than before."""
    end = time.monotonic() + PATIENCE_S
    while True:
        info = d.info()
        below = leaks.descendants(d.pid)
        strange = {p: below[p] for p in set(below) - set(info["workerPids"])}
        problems = []
        if info["providerBusy"] or info["busy"]:
            problems.append("permits %d, busy %d" % (info["providerBusy"], info["busy"]))
        if strange:
            problems.append("processes that are no workers: %s" % strange)
        if memfds_of(d.pid) > memfds:
            problems.append("memfds: %d, before %d" % (memfds_of(d.pid), memfds))
        if not problems or time.monotonic() > end:
            return problems
        time.sleep(0.02)


def next_problems(d):
    result = d.run_when_free("print(1)")
    good = (result["status"], result["stdout"]) == ("succeeded", "1\n")
    return [] if good else ["the next call: %s/%s %r" % (result["status"], result["reason"], result["diagnostic"])]


def kill_some(d, rng, how_many):
    """Kills workers, one or all; returns how many were hit."""
    pids = d.info()["workerPids"]
    hit = 0
    for pid in rng.sample(pids, min(how_many, len(pids))):
        try:
            os.kill(pid, signal.SIGKILL)
            hit += 1
        except ProcessLookupError:
            pass
    return hit


def strike(d, rng, memfds, how_many):
    loads = [rng.choice(LOAD) for _ in range(rng.randint(1, PLACES))]
    replies = [d.submit(source, limits=LIMITS, content=True) for source, _ in loads]
    time.sleep(rng.random() * 0.4)
    hit = kill_some(d, rng, how_many)
    crashed, problems = 0, []
    for reply, (_, stdout) in zip(replies, loads):
        is_crashed, more = judge(d.finish(reply), stdout)
        crashed += is_crashed
        problems += more
    if crashed > hit:
        problems.append("%d calls crashed, %d workers were killed" % (crashed, hit))
    return crashed, problems + next_problems(d) + calm_problems(d, memfds)


def check_kills(t, d, rng, count):
    d.run("print(1)")
    memfds = memfds_of(d.pid)
    for words, how_many, rounds in (("one worker", 1, count), ("all workers at once", PLACES, max(1, count // 4))):
        crashed, problems, n = 0, [], 0
        while not problems and (n < rounds or (crashed == 0 and n < 10 * rounds)):  # on a busy machine a strike may hit nobody
            more, found = strike(d, rng, memfds, how_many)
            crashed += more
            problems += ["round %d: %s" % (n, p) for p in found]
            n += 1
        t.check("kill -9 of %s, %d times with calls in flight" % (words, n), problems)
        t.ok(crashed > 0, "some of them were at work (%s)" % words, "none was hit: this tests nothing")


def check_idle(t, d, rng):
    problems = []
    for _ in range(10):
        kill_some(d, rng, PLACES)
        problems += next_problems(d)
    t.check("kill -9 of idle workers: the next call, at once, works", problems)


def check_stop(t, d):
    """A stopped worker cannot answer; its call ends by the grace after its own time."""
    memfds = memfds_of(d.pid)
    before = set(d.info()["workerPids"])
    started = []
    reply = d.submit("print('%s', flush=True)\nimport time\ntime.sleep(60)\n" % MARK, limits={"wallMs": 1000}, stream=True,
                     on_event=lambda line: started.append(1) if line.get("chunk") else None)
    end = time.monotonic() + PATIENCE_S
    while not started and time.monotonic() < end:
        time.sleep(0.005)
    for pid in d.info()["workerPids"]:
        os.kill(pid, signal.SIGSTOP)
    result = d.finish(reply)
    problems = []
    if (result["status"], result["reason"], result["diagnostic"]) != ("failed", "worker_crash", SILENT):
        problems.append("%s/%s %r" % (result["status"], result["reason"], result["diagnostic"]))
    for pid in d.info()["workerPids"]:
        if pid in before:
            os.kill(pid, signal.SIGCONT)  # one that had nothing to do, and is as good as before
    t.check("SIGSTOP of a worker: its call ends by the grace", problems + next_problems(d) + calm_problems(d, memfds))


def check_cancels(t, d, rng, count):
    memfds = memfds_of(d.pid)
    problems, cancelled = [], 0
    for first in range(0, count, PLACES):
        replies = []
        for _ in range(min(PLACES, count - first)):
            source, stdout = rng.choice(LOAD)
            when = {rng.choice(("cancelAfterMs", "cancelAfterStartMs")): rng.choice((0, 0, 1, 3, 10, 30, 100, 300))}
            while True:
                reply = d.submit(source, limits=LIMITS, content=True, **when)
                if reply.event.wait(0.001) and "error" in reply.line and reply.line["error"]["code"] == "capacity":
                    time.sleep(0.005)
                    continue
                break
            replies.append((reply, stdout))
        for reply, stdout in replies:
            try:
                result = d.finish(reply)
            except driver.StartError as e:
                problems += [] if e.code == "capacity" else [str(e)]
                continue
            if result["reason"] == "cancelled":
                cancelled += 1
                if result["status"] != "cancelled" or result["artifacts"] or result["exitCode"] is not None:
                    problems.append("cancelled, but %s" % result)
            else:
                is_crashed, more = judge(result, stdout)
                problems += more + (["a cancel that reads as a crash"] if is_crashed else [])
        if problems:
            break
    t.check("%d cancels at random moments" % count, problems[:5] + next_problems(d) + calm_problems(d, memfds))
    t.ok(cancelled > count // 4, "many of them were in time", "only %d" % cancelled)


def check_provider(t, options):
    """kill -9 of the provider itself: its workers go with it, and its groups when the next one starts."""
    for n in range(3):
        d = driver.Driver(options)
        for source, _ in LOAD[:3]:
            d.submit(source)
        time.sleep(0.1 * n)
        d.process.kill()
        d.process.wait(PATIENCE_S)
        d.process.stdin.close()
        t.check("kill -9 of the provider: no worker outlives it", leaks.strays_left())
    before = leaks.dead_cgroups()
    with driver.Driver(options) as d:
        problems = next_problems(d)
        end = time.monotonic() + PATIENCE_S
        while leaks.dead_cgroups() and time.monotonic() < end:
            time.sleep(0.05)
        problems += ["cgroup is left: %s" % g for g in leaks.dead_cgroups()]
    t.check("the next provider removes what %d groups were left" % len(before), problems)


def check_command(t, rng):
    """kill -9 of `mayfly run` itself, while its worker starts and while it works."""
    env = driver.option_env(MAYFLY_WASM_RUNTIME=places.wasm_runtime(), MAYFLY_SERVER="off")
    argv = [places.mayfly(), "run", "-", "--provider", "wasm"]
    problems = []
    for _ in range(5):
        p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        p.stdin.write(b"import time\nprint(1)\ntime.sleep(20)\n")
        p.stdin.close()
        time.sleep(rng.random())
        p.kill()
        p.wait()
        problems += leaks.strays_left()
    done = subprocess.run(argv, input=b"print(1)\n", capture_output=True, env=env, timeout=120, check=False)
    if (done.returncode, done.stdout) != (0, b"1\n"):
        problems.append("the next command: %d %r" % (done.returncode, done.stderr))
    t.check("kill -9 of the command: no worker outlives it, the next one works", problems)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--cancels", type=int, default=120)
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 9))
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    places.need_provider("wasm", "driver", "mayfly")
    options = ["--provider", "wasm", "--max-running", str(PLACES), "--pool", "2", *args.options]
    t = tap.Tap()
    t.note("seed %d" % args.seed)
    rng = random.Random(args.seed)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with driver.Driver(options) as d:
        check_kills(t, d, rng, args.kills)
        check_idle(t, d, rng)
        check_stop(t, d)
        check_cancels(t, d, rng, args.cancels)
    check_provider(t, options)
    if not args.options:
        check_command(t, rng)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
