#!/usr/bin/env python3
"""The server's own parts that end: kill -9 of the supervisor, a zygote or a guest while a call runs never fails a response; and a
stop that is asked for lets requests come to their end, a second one does not.

    machinery.py [--count N] [--seed N]"""
import argparse
import json
import os
import random
import signal
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import upstream  # noqa: E402

t = tap.Tap()
SLEEP = "import time\nprint('up', flush=True)\ntime.sleep(%s)\nprint('end')\n"
CRASHED = {"error": "code interpreter isolated worker failed"}


def run(x):
    if x.has_output():
        x.answer([upstream.message(x.body["input"][-1]["output"])])
    else:
        x.answer([upstream.call(json.dumps({"code": x.body["input"][-1]["content"]}))])


def slow(x):
    """Two seconds of text."""
    x.head()
    for e in upstream.events_for([upstream.message("y" * 64 * 40)]):
        x.send(upstream.sse(e))
        time.sleep(0.05 if "delta" in e["type"] else 0)
    x.send(b"data: [DONE]\n\n")


def victims(g, kind):
    """Processes of this kind, with the moment of their start."""
    below = leaks.descendants(g.pid)
    supervisor = [p for p in below if below[p][0] == g.pid]
    inits = [p for p in below if below[p][0] in supervisor]
    if kind == "supervisor":
        chosen = supervisor
    elif kind == "zygote":
        chosen = [p for p in below if below[p][0] in inits]
    else:
        chosen = [p for p in below if p not in supervisor]
    return [(p, below[p][2]) for p in chosen]


def strike(g, rng, kind, number):
    seconds = 40 if kind == "supervisor" else 2  # the former ends it for certain
    r = gateway.RawStream(g, {"model": "run", "input": SLEEP % seconds, "tools": [gateway.TOOL]})
    problems = [] if r.read_until(b"interpreting") else ["nothing runs: %r" % r.data[-300:]]
    end = time.monotonic() + gateway.PATIENCE
    while g.metrics()["mayfly_executor_permits_busy"] < 1 and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(rng.random() * 0.3)
    found = victims(g, kind)
    if found:
        pid, start = rng.choice(found)
        if leaks.is_alive(pid, start):
            os.kill(pid, signal.SIGKILL)
    r.read_all()
    events, form = gateway.events_of(r.body())
    r.close()
    problems += gateway.broken(events, form)
    if not problems:
        final = events[-1]["response"]
        item, told = final["output"][0], json.loads(final["output"][-1]["content"][0]["text"])
        ran = item["status"] == "completed" and told.get("stdout") == "up\nend\n"  # another than its own was hit
        if final["status"] != "completed" or not (ran or item["status"] in ("failed", "incomplete")):
            problems.append(str(final)[:800])
        if kind == "supervisor" and (item["status"], told) != ("failed", CRASHED):
            problems.append("%s, told %s" % (item["status"], told))
    last = None
    while time.monotonic() < end + gateway.PATIENCE:
        last = g.run_code("print(1)")[0]
        if last["outputs"] == [{"type": "logs", "logs": "1\n"}]:
            break
        time.sleep(0.1)
    else:
        problems.append("no call works again: %s" % last)
    problems += g.until("permits", lambda: (g.metrics()["mayfly_executor_permits_busy"] == 0, "some are still out"))
    t.check("kill %d, of the %s: the response goes on, and the next call works" % (number, kind), problems)


def refuses(g):
    try:
        with socket.create_connection(("127.0.0.1", g.port), 1) as s:
            s.settimeout(5)
            s.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            return not s.recv(100).startswith(b"HTTP/1.1 200")
    except OSError:
        return True


def stops(up):
    with gateway.Gateway(up) as g:
        streams = [gateway.RawStream(g, {"model": "slow", "input": "x"}), gateway.RawStream(
            g, {"model": "run", "input": SLEEP % 2, "tools": [gateway.TOOL]})]
        idle = g.connect()
        problems = [] if streams[0].read_until(b"output_text.delta") and streams[1].read_until(b"interpreting") else ["no start"]
        g.process.send_signal(signal.SIGTERM)
        t.ok(idle.recv(10) == b"", "stop: an idle connection is closed")
        problems += g.until("stop", lambda: (refuses(g), "it takes new clients"))
        for r in streams:
            r.read_all()
            problems += gateway.broken(*gateway.events_of(r.body()))
        t.check("stop: streams come to their end, nobody new comes in", problems)
        t.ok(g.process.wait(gateway.PATIENCE) == 0, "stop: it ends by itself")
    for second in (False, True):
        with gateway.Gateway(up) as g:
            r = gateway.RawStream(g, {"model": "run", "input": SLEEP % 60, "tools": [gateway.TOOL]})
            r.read_until(b"interpreting")
            begin = time.monotonic()
            g.process.send_signal(signal.SIGTERM)
            if second:
                time.sleep(0.3)
                g.process.send_signal(signal.SIGTERM)
            status = g.process.wait(gateway.PATIENCE)
            seconds = time.monotonic() - begin
            r.read_all()
            what = "a second signal does not wait" if second else "what does not end in time is cut"
            # Eight seconds is what the first signal gives; a second one must not take them.
            t.ok(b"response.completed" not in r.data and (seconds < 7.5) == second, "stop: " + what, status, "after %.1f s" % seconds, r.data[-300:])
            t.check("stop: no process is left", leaks.strays_left())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    args = parser.parse_args()
    gateway.need()
    t.note("seed %d" % args.seed)
    rng = random.Random(args.seed)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with upstream.Upstream({"run": run, "slow": slow}) as up:
        with gateway.Gateway(up, settings={"execution_wall_time_seconds": 50}) as g:
            for number in range(args.count):
                strike(g, rng, ("supervisor", "zygote", "any")[number % 3], number + 1)
            t.ok(g.stop() == 0, "the gateway ends well", g.log()[-2000:])
        stops(up)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
