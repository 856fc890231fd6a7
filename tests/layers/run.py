#!/usr/bin/env python3
"""A host without one of the layers: isolation "require" refuses to start and says what to do; "prefer" runs, warns, and
every receipt says that nothing holds the guest."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

# The layer as mf-driver names it, and words of which one must be in the refusal.
LAYERS = [
    ("user", ["user"]), ("pid", ["pid"]), ("mount", ["mount"]), ("net", ["net"]), ("ipc", ["ipc"]), ("uts", ["uts"]),
    ("landlock", ["landlock"]), ("seccomp", ["seccomp"]), ("nnp", ["no_new_privs", "privileges"]),
    ("caps", ["capabilit"]), ("rlimit", ["rlimit", "limit"]),
]


def refusal(layer, words, options):
    try:
        with driver.Driver(["--disable-layers", layer, *options]):
            return ["it started without " + layer]
    except driver.NotReady as e:
        problems = []
        if e.code != "unavailable":
            problems.append("code %s, expected unavailable" % e.code)
        if not any(w in e.message.lower() for w in words):
            problems.append("the reason does not name the layer")
        if len(e.message) < 40:
            problems.append("no remedy is given")
        return problems + (["the message was: %r" % e.message] if problems else [])


def preferred(layer):
    with driver.Driver(["--isolation", "prefer", "--disable-layers", layer]) as d:
        result = d.run("import sys\nopen('a.txt', 'w').write('x')\nprint(sys.argv[1:])\n", argv=["one"],
                       files={"in.txt": "x"}, content=True)
        problems = []
        if (result["status"], result["stdout"], result["contents"]) != ("succeeded", "['one']\n", {"a.txt": b"x"}):
            problems.append("the run gave %s %r %r" % (result["status"], result["stdout"], result["stderr"]))
        if result["receipt"]["isolation"] != "none" or result["receipt"]["layers"] not in ("", []):
            problems.append("the receipt claims %s, %s" % (result["receipt"]["isolation"], result["receipt"]["layers"]))
        result = d.run("import time\nprint('up', flush=True)\ntime.sleep(60)\n", limits={"wallMs": 1000})
        if (result["status"], result["stdout"]) != ("timed_out", "up\n"):
            problems.append("the time limit gave %s %r" % (result["status"], result["stdout"]))
        return problems


def main():
    places.need("driver", "zygote", "runtime")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    for layer, words in LAYERS:
        t.check("require refuses without " + layer, refusal(layer, words, []))
    # Where there are none, these three are not missed: a watchdog counts, a container may mask /proc, older kernels have
    # no scopes.
    for option, claim in (("--no-cgroup", "cgroup"), ("--disable-layers=proc", "proc"),
                          ("--disable-layers=landlock_scope", "landlock_scope")):
        problems = []
        try:
            with driver.Driver([option]) as d:
                result = d.run("import os\nprint(os.getpid() > 0)\n")
            receipt = result["receipt"]
            if receipt["isolation"] != "full" or claim in receipt["layers"] or result["stdout"] != "True\n":
                problems.append("it gave %r, and the receipt claims %s" % (result["stdout"], receipt))
        except driver.NotReady as e:
            problems.append(str(e))
        t.check("%s: it starts, and the receipt does not claim it" % option, problems)
    for layer in ("user", "seccomp"):
        t.check("prefer runs without %s, and says so" % layer, preferred(layer))
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
