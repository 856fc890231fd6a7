#!/usr/bin/env python3
"""Many at once: more calls than permits, 500 streams, readers that stop reading.

    crowd.py [--streams N] [--readers N]"""
import argparse
import concurrent.futures
import json
import os
import resource
import selectors
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import upstream  # noqa: E402

t = tap.Tap()
MIB = 1 << 20
FULL = {"error": "code interpreter capacity is temporarily unavailable"}
SLEEP = "import time\nprint('up', flush=True)\ntime.sleep(60)\n"
DELTAS = 40


def run(x):
    if x.has_output():
        x.answer([upstream.message(x.body["input"][-1]["output"])])
    else:
        x.answer([upstream.call(json.dumps({"code": x.body["input"][-1]["content"]}))])


def five(x):
    """Five calls in one round; then all that came of them."""
    outputs = [i["output"] for i in x.body["input"] if i["type"] == "function_call_output"]
    if outputs:
        x.answer([upstream.message(json.dumps([json.loads(o) for o in outputs]))])
    else:
        x.answer([upstream.call(json.dumps({"code": "import time\ntime.sleep(1)\nprint(%d)" % i}), id="fc_%d" % i, call_id="call_%d" % i)
                  for i in range(5)])


class Gate:
    """Opens when so many have come to it, so that they really are under way together."""
    wanted = came = 0
    lock, opened = threading.Lock(), threading.Event()

    @classmethod
    def wait(cls):
        with cls.lock:
            cls.came += 1
            if cls.came == cls.wanted:
                cls.opened.set()
        cls.opened.wait(gateway.PATIENCE)


def slow(x):
    """A text that begins when all are there."""
    x.head()
    Gate.wait()
    events = upstream.events_for([upstream.message(x.body["input"][-1]["content"] + " " + "y" * 64 * DELTAS)])
    for e in events:
        x.send(upstream.sse(e))
        time.sleep(0.02 if "delta" in e["type"] else 0)
    x.send(b"data: [DONE]\n\n")


def flood(x):
    """As much text as is taken."""
    events = upstream.events_for([upstream.message("x" * 64)])
    x.head()
    for e in events[:4]:
        x.send(upstream.sse(e))
    piece = upstream.sse(dict(events[4], delta="z" * 8000))
    x.sent = 0
    while True:
        x.send(piece)
        x.sent += len(piece)


def capacity(g):
    permits = int(g.metrics()["mayfly_executor_permits"])
    busy = [gateway.RawStream(g, {"model": "run", "input": SLEEP, "tools": [gateway.TOOL]}) for _ in range(permits)]
    problems = ["it does not run: %r" % s.data[-300:] for s in busy if not s.read_until(b"interpreting")]
    problems += g.until("permits", lambda: (g.metrics()["mayfly_executor_permits_busy"] == permits, "not all are out"))
    for stream in (False, True):
        status, got = g.respond(model="run", input="print(1)", tools=[gateway.TOOL], stream=stream)
        if stream:
            problems += gateway.broken(got)
            got = got[-1]["response"]
        item = got["output"][0]
        if status != 200 or got["status"] != "completed" or (item["status"], item["outputs"]) != (
                "failed", [{"type": "logs", "logs": "Code execution failed."}]) or json.loads(
                got["output"][-1]["content"][0]["text"]) != FULL:
            problems.append("%s %s" % (status, got))
    if g.metrics()["mayfly_executions_refused_total"] < 2:
        problems.append("refusals are not counted")
    t.check("%d permits busy: one call more is a failed item, and the response goes on" % permits, problems)
    for s in busy:
        s.close()
    problems = g.until("permits", lambda: (g.metrics()["mayfly_executor_permits_busy"] == 0, "some are still out"))
    item = g.run_code("print(1)")[0]
    t.check("and the next call works", problems + ([] if item["status"] == "completed" else [str(item)]))
    problems = g.until("permits", lambda: (g.metrics()["mayfly_executor_permits_busy"] == 0, "some are still out"))
    t.check("all permits come back", problems)
    status, r = g.respond(model="five", input="go", tools=[gateway.TOOL])
    told = json.loads(r["output"][-1]["content"][0]["text"])
    done = sum(o.get("status") == "completed" for o in told)
    t.ok(status == 200 and done == permits and all(o == FULL for o in told if "error" in o) and len(told) == 5,
         "five calls of one round: as many run as there are permits", r)


def streams(g, up, n):
    """All in one thread, so that the machine's time is the gateway's."""
    chooser = selectors.DefaultSelector()
    data = {}
    Gate.wanted = n
    for i in range(n):
        s = g.connect()
        s.sendall(gateway.post({"model": "slow", "input": "number %d" % i, "stream": True}))
        s.setblocking(False)
        chooser.register(s, selectors.EVENT_READ, i)
        data[i] = [s, []]
    most, ended, end = 0, 0, time.monotonic() + gateway.PATIENCE * 2
    while ended < n and time.monotonic() < end:
        most = max(most, up.active)
        for key, _ in chooser.select(1):
            piece = key.fileobj.recv(65536)
            data[key.data][1].append(piece)
            if not piece or piece.endswith(b"0\r\n\r\n"):
                chooser.unregister(key.fileobj)
                ended += 1
    problems = [] if ended == n else ["only %d came to their end" % ended]
    if most < n:
        problems.append("only %d were under way at the same time" % most)
    ids = set()
    for i, (s, pieces) in data.items():
        raw = gateway.RawStream.__new__(gateway.RawStream)
        raw.data = b"".join(pieces)
        faults = gateway.broken(*gateway.events_of(raw.body()))
        if not faults:
            final = gateway.events_of(raw.body())[0][-1]["response"]
            ids.add(final["id"])
            if not final["output"][0]["content"][0]["text"].startswith("number %d y" % i):
                faults.append("another's text")
        problems += ["stream %d: %s" % (i, f) for f in faults]
        s.close()
    t.check("%d streams at once, each whole and its own" % n, problems[:8])
    t.ok(len(ids) == n and g.call("GET", "/v1/responses/" + sorted(ids)[0])[0] == 200, "and each is stored under its own id", len(ids))


def burst(g, n=60):
    """Far more calls than permits, all at once: each has an answer, and a refused one is told so."""
    def one(i):
        return g.respond(model="run", input="print(%d)" % i, tools=[gateway.TOOL])

    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        answers = list(pool.map(one, range(n)))
    problems, ran = [], 0
    for i, (status, r) in enumerate(answers):
        item = r["output"][0] if status == 200 else {}
        if item.get("status") == "completed" and item["outputs"] == [{"type": "logs", "logs": "%d\n" % i}]:
            ran += 1
        elif item.get("status") != "failed" or json.loads(r["output"][-1]["content"][0]["text"]) != FULL:
            problems.append("%d: %s %s" % (i, status, str(r)[:400]))
    t.check("%d calls at once" % n, problems[:5] + ([] if ran else ["none ran"]))
    t.note("%d of %d ran" % (ran, n))


def slow_readers(up, n, way, **more):
    """A server of its own: memory that was used before would hide what a reader holds."""
    with gateway.Gateway(up, interpreter=False) as g:
        hold(g, up, n, way, more)


def hold(g, up, n, way, more):
    g.respond(model="plain", input="x")
    begin = g.rss()
    readers = []
    for _ in range(n):
        r = gateway.RawStream(g, dict(more, model="flood", input="x"), receive_bytes=8192)
        r.read_until(b"output_text.delta")
        readers.append(r)
    # Until nothing moves any more: the model server is stopped by who does not read.
    last, end = -1, time.monotonic() + gateway.PATIENCE
    while time.monotonic() < end:
        now = up.last.sent
        if now == last:
            break
        last = now
        time.sleep(0.5)
    each = (g.rss() - begin) / n
    t.ok(each < MIB, "%d readers that stop reading hold less than 1 MiB each (%s)" % (n, way), "%.0f KiB each" % (each / 1024))
    t.ok(up.last.sent == last, "and stop their model server", "it sent %d bytes and goes on" % up.last.sent)
    t.note("%.0f KiB each; the model server sent %d KiB" % (each / 1024, last / 1024))
    t.ok(g.call("GET", "/health")[0] == 200 and g.respond(model="plain", input="x")[0] == 200,
         "others are served meanwhile")
    for r in readers:
        r.close()
    t.check("they leave, and so does their model server", g.until("model server", lambda: (up.active == 0, "%d left" % up.active)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--readers", type=int, default=16)
    args = parser.parse_args()
    gateway.need()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * args.streams:
        tap.skip_all("the limit of open files is %d" % hard)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    behaviours = {"run": run, "five": five, "slow": slow, "flood": flood, "plain": lambda x: x.answer([upstream.message("fine")])}
    with upstream.Upstream(behaviours) as up:
        # The gateway starts with the limits of a usual login; what it needs above them is its own business.
        with gateway.Gateway(up, settings={"execution_wall_time_seconds": 50}) as g:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            capacity(g)
            streams(g, up, args.streams)
            burst(g)
            t.ok(g.stop() == 0, "the gateway ends well", g.log()[-2000:])
        slow_readers(up, args.readers, "a turn")
        slow_readers(up, args.readers, "the raw proxy", store=False)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
