#!/usr/bin/env python3
"""The provider contract where a single program cannot show it: refused specs, places, cancellation, live output."""
import concurrent.futures
import os
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

MIB = 1 << 20

# Each is refused before anything runs, with the code and a message that names the part.
REFUSED = [
    ("a name with traversal", dict(files={"../x": "1"}), "input", "x"),
    ("an absolute name", dict(files={"/etc/x": "1"}), "input", "/etc/x"),
    ("an empty name", dict(files={"": "1"}), "input", ""),
    ("a name with an empty part", dict(files={"a//b": "1"}), "input", "a//b"),
    ("a name with NUL", dict(files={"a\0b": "1"}), "input", "a"),
    ("a name with a newline", dict(files={"a\nb": "1"}), "input", "a"),
    ("a name of 256 bytes", dict(files={"n" * 256: "1"}), "input", "n"),
    ("a name of 17 parts", dict(files={"/".join("abcdefghijklmnopq"): "1"}), "input", "a/b"),
    ("a name that is a folder of another", dict(files={"a": "1", "a/b": "2"}), "input", "a"),
    ("two names that are one after composition", dict(files={"e\u0301": "1", "\u00e9": "2"}), "input", ""),
    ("more than 20 MiB of inputs", dict(files={"a": "x" * (20 * MIB), "b": "x"}), "limit", "20"),
    ("more than 256 inputs", dict(files={"f%d" % n: "" for n in range(257)}), "limit", "256"),
    ("a source with NUL", dict(source="print(1)\0"), "input", "source"),
    ("a source over 1 MiB", dict(source="#" * (MIB + 1)), "limit", "source"),
    ("a wall time of nothing", dict(limits={"wallMs": 0}), "input", ""),
    ("a wall time over an hour", dict(limits={"wallMs": 3600001}), "input", ""),
    ("memory below 64 MiB", dict(limits={"memoryBytes": 64 * MIB - 1}), "input", ""),
    ("no processes at all", dict(limits={"pids": 0}), "input", ""),
]


def refused(t, d):
    for name, request, code, part in REFUSED:
        request = dict({"source": "print(1)"}, **request)
        try:
            result = d.run(**request)
            problems = ["it ran: %s" % result["status"]]
        except driver.StartError as e:
            problems = []
            # A size is an input that is wrong or a limit that was reached; both are the caller's to mend.
            if e.code not in {code, "input", "limit"}:
                problems.append("code %s, expected %s" % (e.code, code))
            if part not in e.message or not e.message or "\n" in e.message or "\0" in e.message:
                problems.append("the message %r is not one line that names %r" % (e.message, part))
        t.check("refused: " + name, problems)


def live_output(t, d):
    seen, first = [], threading.Event()

    def on_event(line):
        seen.append(line)
        if line.get("chunk"):
            first.set()

    reply = d.submit("import time\nprint('early', flush=True)\ntime.sleep(60)\n", on_event=on_event, stream=True)
    arrived = first.wait(60)
    d.cancel(reply)
    d.cancel(reply)
    result = d.finish(reply)
    d.cancel(reply)
    t.ok(arrived and seen[0].get("started") is True, "output arrives while the program runs, after started", seen)
    t.ok(result["status"] == "cancelled" and result["stdout"] == "early\n", "cancelling twice and late is one cancel", result)
    reply = d.submit("import sys\nfor i in range(50):\n    print('o', i)\n    print('e', i, file=sys.stderr, flush=True)\n",
                     stream=True)
    result = d.finish(reply)
    for stream, is_stderr in (("stdout", False), ("stderr", True)):
        joined = "".join(c["chunk"] for c in reply.chunks if "chunk" in c and c["isStderr"] == is_stderr)
        t.ok(joined == result[stream] and joined.count("\n") == 50, "%s: the live chunks are the result" % stream)


def places_taken(t, options):
    with driver.Driver([*options, "--max-running", "3"]) as d:
        held = [d.submit("import time\ntime.sleep(60)\n") for _ in range(3)]
        try:
            d.run("print(1)")
            problems = ["a fourth run was taken"]
        except driver.StartError as e:
            problems = [] if e.code == "capacity" else [str(e)]
        t.check("a run over the number of places is refused at once, with capacity", problems)
        for reply in held:
            d.cancel(reply)
        statuses = [d.finish(reply)["status"] for reply in held]
        t.ok(statuses == ["cancelled"] * 3, "the held runs end as cancelled", statuses)
        for _ in range(400):
            try:
                result = d.run("print(2)")
                break
            except driver.StartError:
                threading.Event().wait(0.05)
        else:
            result = {"stdout": "no place came back"}
        t.ok(result["stdout"] == "2\n", "the places come back", result)


def many_at_once(t, options):
    with driver.Driver([*options, "--max-running", "16"]) as d:
        def one(n):
            for _ in range(400):
                try:
                    return d.run("import os\nopen('n','w').write('%d')\nprint(%d, open('n').read(), len(os.listdir()))" % (n, n),
                                 content=True)
                except driver.StartError as e:
                    if e.code != "capacity":
                        raise
                    threading.Event().wait(0.05)
            raise driver.DriverGone("no place within 20 s")

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            results = list(pool.map(one, range(200)))
        wrong = [(n, r["stdout"], r["contents"]) for n, r in enumerate(results)
                 if r["stdout"] != "%d %d 1\n" % (n, n) or r["contents"] != {"n": b"%d" % n}]
        t.check("200 runs, 16 at once: each gets its own answer and files", wrong[:5])
        for _ in range(200):
            info = d.info()
            if info["busy"] == 0 and info["providerBusy"] == 0:
                break
            threading.Event().wait(0.05)
        t.ok(info["busy"] == 0 and info["providerBusy"] == 0, "no place stays taken", info)
        t.ok(info["doneRuns"] == 200, "each run finished exactly once", info)


def closing(t, options):
    d = driver.Driver(options)
    running = [d.submit("import time\ntime.sleep(60)\n") for _ in range(2)]
    d.process.stdin.close()
    statuses = []
    for reply in running:
        try:
            statuses.append(d.finish(reply, 60)["status"])
        except driver.DriverGone:
            statuses.append("gone")
    status = d.process.wait(60)
    t.ok(status == 0 and statuses == ["cancelled"] * 2, "closing a provider cancels what runs", status, statuses)


def main():
    options = sys.argv[1:]
    places.need_provider(driver.provider_of(options), "driver")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with driver.Driver(options) as d:
        refused(t, d)
        live_output(t, d)
    places_taken(t, options)
    many_at_once(t, options)
    closing(t, options)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
