#!/usr/bin/env python3
"""Clients that leave at any point of a request: the model server is told, the sandbox ends, the permit comes back, nothing is
stored; and after many of them memory, descriptors, processes and control groups are what they were.

    drops.py [--count N] [--seed N]"""
import argparse
import os
import random
import sqlite3
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import upstream  # noqa: E402

PROGRAMS = [
    "import time\nprint('up', flush=True)\ntime.sleep(60)\n",
    "while True:\n    pass\n",
    "import pandas as pd, time\nprint(pd.DataFrame({'a': [1]}))\ntime.sleep(60)\n",
    "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\nos.fork()\ntime.sleep(60)\n",
]
MIB = 1 << 20
TRIES = 4


def wait(x):
    x.wait_until_left()


def half(x):
    x.head(200, "application/json", "Content-Length: 1000\r\n")
    x.send(b'{"id":"resp_up","object":"response","output":[')
    x.wait_until_left()


def endless(x):
    """A message that does not end."""
    events = upstream.events_for([upstream.message("x" * 64)])
    x.head()
    for e in events[:4]:
        x.send(upstream.sse(e))
    while True:
        x.send(upstream.sse(events[4]))
        time.sleep(0.005)


def run(x):
    if x.has_output():
        x.answer([upstream.message("done")])
    else:
        x.answer([upstream.call("{\"code\":%s}" % upstream.json.dumps(x.body["input"][-1]["content"]))])


def run_wait(x):
    if x.has_output():
        wait(x)
    else:
        run(x)


class Drops:
    def __init__(self, g, up, rng):
        self.g, self.up, self.rng = g, up, rng
        self.seconds = []
        self.kinds = [self.head, self.body, self.sent, self.waiting, self.half_json, self.waiting_stream, self.streaming,
                      self.executing, self.executing_stream, self.second_round, self.proxied, self.chat, self.stored]

    def ask(self, model, stream, text="hello", **more):
        return gateway.RawStream(self.g, dict(more, model=model, input=text), stream=stream)

    def until_asked(self, n=1):
        return self.g.until("upstream is not asked", lambda: (self.up.active >= n, "%d requests" % self.up.active))

    def program(self):
        return self.rng.choice(PROGRAMS)

    # Each makes a connection that is ready to be dropped, and says what went wrong until then.

    def head(self):
        r = self.g.connect()
        data = gateway.post({"model": "wait", "input": "x"})
        r.sendall(data[:self.rng.randrange(1, data.index(b"\r\n\r\n"))])
        return r, []

    def body(self):
        r = self.g.connect()
        data = gateway.post({"model": "wait", "input": "x" * 100000})
        r.sendall(data[:self.rng.randrange(data.index(b"\r\n\r\n") + 4, len(data) - 1)])
        return r, []

    def sent(self):
        return self.ask(self.rng.choice(["wait", "endless", "run"]), self.rng.random() < 0.5, self.program(),
                        tools=[gateway.TOOL]).s, []

    def waiting(self):
        return self.ask("wait", False).s, self.until_asked()

    def half_json(self):
        return self.ask("half", False).s, self.until_asked()

    def waiting_stream(self):
        return self.ask("wait", True).s, self.until_asked()

    def streaming(self):
        r = self.ask("endless", True)
        return r.s, [] if r.read_until(b"output_text.delta") else ["no text came: %r" % r.data[-300:]]

    def executing(self):
        r = self.ask("run", False, self.program(), tools=[gateway.TOOL])
        return r.s, self.g.until("nothing runs", lambda: (
            self.g.metrics()["mayfly_executor_permits_busy"] >= 1, "no permit is out"))

    def executing_stream(self):
        r = self.ask("run", True, self.program(), tools=[gateway.TOOL])
        problems = [] if r.read_until(b"interpreting") else ["nothing runs: %r" % r.data[-300:]]
        time.sleep(self.rng.random() * 0.05)
        return r.s, problems

    def second_round(self):
        r = self.ask("run-wait", True, "print(1)", tools=[gateway.TOOL])
        problems = [] if r.read_until(b"code_interpreter_call.completed") else ["the call did not end: %r" % r.data[-300:]]
        return r.s, problems + self.until_asked()

    def proxied(self):
        """The raw proxy: nothing in it needs the gateway."""
        if self.rng.random() < 0.5:
            return self.ask("wait", False, store=False).s, self.until_asked()
        r = self.ask("endless", True, store=False)
        return r.s, [] if r.read_until(b"output_text.delta") else ["no text came: %r" % r.data[-300:]]

    def chat(self):
        r = gateway.RawStream(self.g, {"model": "endless", "messages": []}, path="/v1/chat/completions")
        return r.s, [] if r.read_until(b"output_text.delta") else ["no text came: %r" % r.data[-300:]]

    def stored(self):
        """Left behind an answer that is whole: nothing is lost, and the connection was not yet used again."""
        r = self.ask("run", True, "print(1)", tools=[gateway.TOOL], store=False)
        return r.s, [] if r.read_until(b"response.completed") else ["no end: %r" % r.data[-300:]]

    def is_quiet(self):
        m = self.g.metrics()
        now = {"requests": m["mayfly_http_requests_in_flight"] - 1, "connections": m["mayfly_http_connections"] - 1,
               "permits": m["mayfly_executor_permits_busy"], "sandboxes": m["mayfly_provider_busy"],
               "calls": m["mayfly_executor_waiting"], "upstream": self.up.active}
        return not any(now.values()), now

    def drop(self, number):
        kind = self.kinds[number % len(self.kinds)]
        s, problems = kind()
        hard = self.rng.random() < 0.5
        if hard:
            s.setsockopt(gateway.socket.SOL_SOCKET, gateway.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        begin = time.monotonic()
        s.close()
        problems += self.g.until("something is left", self.is_quiet)
        self.seconds.append((time.monotonic() - begin, kind.__name__))
        return ["drop %d (%s, %s): %s" % (number, kind.__name__, "reset" if hard else "end", p) for p in problems]


def state(g):
    """What must not grow. The pool's idle children are no growth: it is full before and after."""
    below = leaks.descendants(g.pid)
    supervisor = min(below) if below else 0
    own = "-%d-" % supervisor  # in the name of the folder that has its groups
    groups = sum(len(folders) for top in leaks._own_groups() for root, folders, _ in os.walk(top) if own in root)
    return {"gateway's memory": leaks.resident_bytes(g.pid), "gateway's descriptors": leaks.open_fds(g.pid),
            "supervisor's memory": leaks.resident_bytes(supervisor), "supervisor's descriptors": leaks.open_fds(supervisor),
            "processes": len(below), "control groups": groups}


def settled(g):
    """The state once the pool is full again: the same twice in a row."""
    end = time.monotonic() + 30
    last = None
    while time.monotonic() < end:
        now = state(g)
        if last and all(now[k] == last[k] for k in now if "memory" not in k):
            return now
        last = now
        time.sleep(0.5)
    return last


def growth(early, late, count):
    room = {"gateway's memory": 2 * MIB + 512 * count, "supervisor's memory": MIB + 256 * count}
    return ["%s grew from %d to %d" % (k, early[k], late[k]) for k in early if late[k] > early[k] + room.get(k, 2)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    args = parser.parse_args()
    gateway.need()
    t = tap.Tap()
    t.note("seed %d" % args.seed)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    problems = []
    behaviours = {"wait": wait, "half": half, "endless": endless, "run": run, "run-wait": run_wait}
    with upstream.Upstream(behaviours) as up, gateway.Gateway(up, settings={"execution_wall_time_seconds": 50}) as g:
        drops = Drops(g, up, random.Random(args.seed))
        warm = max(len(drops.kinds), args.count // 5)
        g.run_code("import pandas\nprint(1)", store=False)  # the pool of those with pandas is filled from now on
        for i in range(warm):
            problems += drops.drop(i)
        # Groups are made when a place is first used, and a busy machine may use one late: what has a bound stops growing
        # at one of the tries, a leak at none.
        at, late = warm, settled(g)
        for _ in range(TRIES):
            early = late
            for i in range(at, at + args.count - warm):
                problems += drops.drop(i)
                if len(problems) > 10:
                    break
            at += args.count - warm
            late = settled(g)
            if problems or not growth(early, late, args.count - warm):
                break
        t.check("%d clients that leave: upstream left, sandbox gone, permit back" % at, problems[:10])
        t.check("memory, descriptors, processes and groups are flat", growth(early, late, args.count - warm))
        t.note("early %s" % early)
        t.note("late  %s" % late)
        slow = max(drops.seconds)
        t.note("until all was seen gone: median %.0f ms, longest %.0f ms (%s)"
               % (statistics.median(x for x, _ in drops.seconds) * 1000, slow[0] * 1000, slow[1]))
        item, _, r = g.run_code("print(1)")
        t.ok(item["outputs"] == [{"type": "logs", "logs": "1\n"}], "the next call works", item)
        t.ok(g.stop_keeping_home() == 0, "the gateway ends well", g.log()[-2000:])
        with sqlite3.connect(os.path.join(g.home, "mayfly.db")) as db:
            stored = [row[0] for row in db.execute("SELECT id FROM responses")]
        t.ok(stored == [r["id"]], "nothing of those that were left is stored", stored)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
