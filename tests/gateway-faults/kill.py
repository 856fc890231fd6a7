#!/usr/bin/env python3
"""kill -9 of the server while 50 streams run: the database opens, each response that a client saw completed is there as it was
seen, and no process of a sandbox is left.

    kill.py [--count N] [--streams N] [--seed N]"""
import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
import upstream  # noqa: E402


def run(x):
    if x.has_output():
        x.answer([upstream.message(x.body["input"][-1]["output"])])
    else:
        x.answer([upstream.call(json.dumps({"code": x.body["input"][-1]["content"]}))])


def text(x):
    """A text of some length, at its own pace."""
    rng = random.Random(x.body["input"][-1]["content"])
    x.head()
    for e in upstream.events_for([upstream.message("word " * rng.randrange(1, 400))]):
        x.send(upstream.sse(e))
        time.sleep(rng.random() * 0.01)
    x.send(b"data: [DONE]\n\n")


class Client(threading.Thread):
    """Streams one after the other, each a turn after the last that was completed, until the server is gone."""

    def __init__(self, g, seed):
        super().__init__(daemon=True)
        self.g, self.rng = g, random.Random(seed)
        self.seen, self.problems, self.previous = [], [], None

    def run(self):
        number = 0
        while True:
            number += 1
            body = {"model": "text", "input": "%s-%d" % (self.name, number)}
            if self.rng.random() < 0.15:
                body = {"model": "run", "input": "print(%d)" % number, "tools": [gateway.TOOL]}
            if self.previous and self.rng.random() < 0.5:
                body["previous_response_id"] = self.previous
            try:
                r = gateway.RawStream(self.g, body)
                r.read_all()
            except OSError:
                return
            events = []
            for frame in r.body().split(b"\n\n")[:-1]:  # the last is not whole
                for line in frame.split(b"\n"):
                    if line.startswith(b"data: {"):
                        events.append(json.loads(line[6:]))
            r.close()
            final = events[-1] if events else {}
            if final.get("type") == "response.completed":
                self.seen.append(final["response"])
                self.previous = final["response"]["id"]
            elif r.data and b"data: [DONE]" in r.data:
                self.problems.append("a stream ended with %s" % final)
                return
            elif r.data and b" 200 " not in r.data[:20]:
                self.problems.append("%r" % r.data[:300])
                return
            if r.ended:
                return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    args = parser.parse_args()
    gateway.need()
    t = tap.Tap()
    t.note("seed %d" % args.seed)
    rng = random.Random(args.seed)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    home = tempfile.TemporaryDirectory(prefix="mf-home-")
    acknowledged = []
    with upstream.Upstream({"run": run, "text": text}) as up:
        for round_number in range(args.count + 1):
            g = gateway.Gateway(up, home=home.name)
            problems = []
            for wanted in acknowledged:
                status, got = g.get("/v1/responses/" + wanted["id"])
                if status != 200 or got != wanted:
                    problems.append("%s: %s" % (wanted["id"], "another than was seen" if status == 200 else "status %d" % status))
            if round_number > 0:
                t.check("kill %d: all %d that were seen completed are there" % (round_number, len(acknowledged)), problems[:5])
                item = g.run_code("print(1)")[0]
                t.ok(item["status"] == "completed", "kill %d: a call works afterwards" % round_number, item)
                if acknowledged:
                    status, r = g.respond(model="run", input="print(2)", tools=[gateway.TOOL], previous_response_id=acknowledged[-1]["id"])
                    t.ok(status == 200 and r["status"] == "completed", "kill %d: a conversation goes on" % round_number, r)
            if round_number == args.count:
                break
            acknowledged = acknowledged[-50:]
            clients = [Client(g, rng.random()) for _ in range(args.streams)]
            for c in clients:
                c.start()
            least = rng.randrange(5, 60)
            end = time.monotonic() + gateway.PATIENCE
            while sum(len(c.seen) for c in clients) < least and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(rng.random() * 0.1)
            g.kill()
            for c in clients:
                c.join(gateway.PATIENCE)
            new = [r for c in clients for r in c.seen]
            t.check("kill %d: until then %d streams went well" % (round_number + 1, len(new)),
                    [p for c in clients for p in c.problems][:5] + ([] if new else ["none"]))
            acknowledged += new
            t.check("kill %d: no process is left" % (round_number + 1), leaks.strays_left())
        t.ok(g.stop() == 0, "the last one ends well", g.log()[-2000:])
    home.cleanup()
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
