#!/usr/bin/env python3
"""More clients than the process may have descriptors: whoever is let in is served, the others wait or are told so."""
import collections
import os
import select
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402

t = tap.Tap()
FILES = 256
CLIENTS = 300


class Poor(gateway.Gateway):
    def start(self, argv, env=None, stderr=None):
        super().start(["sh", "-c", "ulimit -n %d; exec \"$@\"" % FILES, "sh", *argv], env, stderr)


def answers(clients):
    """{status: how many} of what each client is told; one that was answered leaves, and makes room."""
    found = collections.Counter()
    end = time.monotonic() + gateway.PATIENCE
    waiting = list(clients)
    while waiting and time.monotonic() < end:
        for s in select.select(waiting, [], [], 1)[0]:
            found[s.recv(65536)[9:12].decode() or "cut"] += 1
            s.close()
            waiting.remove(s)
    if waiting:
        found["nothing"] = len(waiting)
    return found


def main():
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with gateway.Model({"plain": gateway.PLAIN}) as model, Poor(model, interpreter=False) as g:
        clients = [g.connect() for _ in range(CLIENTS)]
        request = gateway.post({"model": "plain", "input": "x"})
        for s in clients:
            s.sendall(request)
        found = answers(clients)
        t.ok(set(found) <= {"200", "503"} and found["200"] > 0, "%d clients and %d descriptors" % (CLIENTS, FILES), found)
        t.ok("Too many open files" not in g.log(), "the descriptors were enough", g.log()[-1000:])
        status, r = g.respond(model="plain", input="x")
        t.ok(status == 200, "the server works afterwards", r)
        t.ok(g.stop() == 0, "and ends well", g.log()[-1000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
