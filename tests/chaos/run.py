#!/usr/bin/env python3
"""Chaos: kill -9 of each kind of process at random moments. Nothing is left behind, and the next run works.

    run.py [--count N] [--seed N] [--name WORDS] [-- options of mf-driver]

Only processes of our own driver or command are killed: their numbers come from the driver's info and from the tree
below it. The seed is printed; the same seed chooses the same victims and moments."""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

VICTIMS = ["supervisor", "zygote-stdlib", "zygote-data", "guest", "any", "driver", "command"]
LOAD = [
    "import time\nprint('a', flush=True)\ntime.sleep(0.3)\nprint('b')\n",
    "import os\nopen('f.txt', 'w').write('x' * 100000)\nfor _ in range(3):\n    if os.fork() == 0:\n        os._exit(0)\nprint('done')\n",
    "import numpy as np\nprint(np.ones(1000).sum())\n",
    "x = 0\nfor i in range(10 ** 6):\n    x += i\nprint(x)\n",
    "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(7)'], capture_output=True, text=True).stdout)\n",
]
RECOVERY_S = 60


def next_run_works(d):
    """Tries until a run succeeds: a supervisor or a zygote may be on its way back."""
    end = time.monotonic() + RECOVERY_S
    last = None
    while time.monotonic() < end:
        try:
            result = d.run("print(1)", timeout=60)
            if (result["status"], result["stdout"]) == ("succeeded", "1\n"):
                return []
            last = "%s/%s %s" % (result["status"], result["reason"], result["diagnostic"])
        except driver.StartError as e:
            last = str(e)
        except driver.DriverGone as e:
            return ["the driver is gone: %s" % e]
        time.sleep(0.1)
    return ["no run worked within %d s; the last: %s" % (RECOVERY_S, last)]


def settle(keep, dead_before):
    """Waits until nothing stray is left; names what stays."""
    end = time.monotonic() + RECOVERY_S
    while True:
        strays = leaks.strays(keep)
        groups = leaks.dead_cgroups() - dead_before
        if not strays and not groups:
            return []
        if time.monotonic() > end:
            return ["process %d is left: %s" % (p, leaks.command_of(p)) for p in strays] + \
                   ["cgroup is left: " + g for g in groups]
        time.sleep(0.05)


def cgroups_of(supervisor):
    return {g for g in leaks.dead_cgroups() if "-%d-" % supervisor in os.path.basename(g)}


def pick(rng, kind, d):
    """The number and start time of a victim, or None when there is none of this kind now."""
    info = d.info()
    below = leaks.descendants(info["supervisorPid"])
    machinery = {info["zygoteStdlibPid"], info["zygoteDataPid"]}
    if kind == "supervisor":
        pid = info["supervisorPid"]
    elif kind.startswith("zygote"):
        pid = info["zygoteStdlibPid" if kind.endswith("stdlib") else "zygoteDataPid"]
    elif kind == "driver":
        pid = d.pid
    else:
        choices = sorted(p for p in below if kind == "any" or p not in machinery and below[p][0] in machinery)
        pid = rng.choice(choices) if choices else 0
    stat = leaks.processes().get(pid) if pid > 1 else None
    return (pid, stat[2]) if stat else None


def kill(victim):
    pid, start = victim
    if not leaks.is_alive(pid, start):
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def strike_driver(t, rng, kind, name, d, options, dead_before):
    """Load on a driver, a kill at a random moment; returns the driver to go on with."""
    replies = [d.submit(rng.choice(LOAD), limits={"wallMs": 20000}) for _ in range(rng.randint(1, 4))]
    time.sleep(rng.random() * 0.3)
    problems = []
    try:
        victim = pick(rng, kind, d)
    except driver.DriverGone:
        victim = None
    hit = victim is not None and kill(victim)
    if kind == "driver":
        d.process.wait(60)
        d.process.stdin.close()
        problems += settle([], leaks.dead_cgroups())  # the groups of a killed driver go when the next one starts
        d = driver.Driver(options)
        for reply in replies:
            reply.event.set()
    else:
        for reply in replies:
            try:
                result = d.finish(reply, 90)
                if result["reason"] == "unavailable" and result["status"] == "succeeded":
                    problems.append("a contradiction: %s" % result)
            except driver.StartError:
                pass  # refused while the supervisor was on its way back
            except driver.DriverGone as e:
                problems.append("a run never ended: %s" % e)
                break
    problems += next_run_works(d)
    if not problems:
        problems += settle([d.pid], dead_before)
        info = d.info()
        end = time.monotonic() + 20
        while info["providerBusy"] and time.monotonic() < end:
            time.sleep(0.05)
            info = d.info()
        if info["providerBusy"]:
            problems.append("%d permits are still taken" % info["providerBusy"])
    t.check("%s%s" % (name, "" if hit else " (it had ended by itself)"), problems)
    return d


def strike_command(t, rng, name, keep, dead_before):
    """Kills `mayfly run` itself."""
    env = driver.option_env(MAYFLY_RUNTIME=places.runtime(), MAYFLY_SERVER="off")
    p = subprocess.Popen([places.mayfly(), "run", "-", "--json"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, env=env)
    p.stdin.write(rng.choice(LOAD).encode() + b"import time\ntime.sleep(30)\n")
    p.stdin.close()
    time.sleep(rng.random() * 1.5)
    p.kill()
    p.wait()
    problems = settle(keep, leaks.dead_cgroups())
    done = subprocess.run([places.mayfly(), "run", "-"], input=b"print(1)\n", capture_output=True, env=env, timeout=120,
                          check=False)
    if (done.returncode, done.stdout) != (0, b"1\n"):
        problems.append("the next command does not work: %d %r" % (done.returncode, done.stderr))
    problems += settle(keep, dead_before)
    t.check(name, problems)


def strike_both(t, name, options, dead_before):
    """Kills a driver and its supervisor together: nobody of theirs can tidy. The next one does, while it serves."""
    d = driver.Driver(options)
    d.submit("import time\ntime.sleep(60)\n", limits={"wallMs": 60000})
    problems = next_run_works(d)
    counts = "cgroup" in d.run("print(1)")["receipt"]["memoryControl"]
    supervisor = d.info()["supervisorPid"]
    os.kill(supervisor, signal.SIGSTOP)  # so that it cannot tidy between the two
    d.process.kill()
    d.process.wait(60)
    d.process.stdin.close()
    os.kill(supervisor, signal.SIGKILL)
    problems += settle([], leaks.dead_cgroups() | cgroups_of(supervisor))
    left = cgroups_of(supervisor)
    if counts and not left:
        problems.append("no group was left: this test tests nothing")
    d = driver.Driver(options)
    problems += next_run_works(d)
    problems += settle([d.pid], dead_before)  # while it runs
    problems += ["cgroup is left: " + g for g in cgroups_of(supervisor)]
    if d.close() != 0:
        problems.append("the next driver did not close in order")
    t.check(name, problems)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=21)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--name", default="")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    places.need("driver", "zygote", "runtime", "mayfly")
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 30)
    rng = random.Random(seed)
    t = tap.Tap()
    t.note("seed %d" % seed)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    dead_before = leaks.dead_cgroups()
    options = [*args.options, "--max-running", "8"]
    d = driver.Driver(options)
    for n in range(args.count):
        kind = VICTIMS[n % len(VICTIMS)]
        name = "%s kill -9 of %s, %d" % (args.name, kind, n + 1)
        try:
            if kind == "command":
                strike_command(t, rng, name, [d.pid], dead_before)
            else:
                d = strike_driver(t, rng, kind, name, d, options, dead_before)
        except (driver.DriverGone, driver.NotReady, subprocess.TimeoutExpired) as e:
            t.check(name, ["%s: %s" % (type(e).__name__, e)])
            d.kill()
            d = driver.Driver(options)
    t.ok(d.close() == 0, args.name + " the last driver closes in order")
    strike_both(t, args.name + " kill -9 of driver and supervisor together", options, dead_before)
    t.check(args.name + " nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
