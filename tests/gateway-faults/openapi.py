#!/usr/bin/env python3
"""schemathesis against /openapi.json: whatever it makes up, no answer is a 5xx, and the server is there afterwards.

    openapi.py [--examples N] [--seed N]"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    gateway.need()
    command = os.path.join(places.sdk() or "", "python", "bin", "schemathesis")
    if not os.path.exists(command):
        tap.skip_all("schemathesis is not set up (scripts/setup-sdk)")
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with gateway.Model({"run": gateway.RUN, "plain": gateway.PLAIN}) as model, gateway.Gateway(model) as g:
        status, document = g.get("/openapi.json")
        paths = document.get("paths", {}) if status == 200 else {}
        t.ok({"/v1/responses", "/v1/responses/{response_id}"} <= set(paths) or len(paths) >= 8, "/openapi.json names the routes", sorted(paths))
        with tempfile.TemporaryDirectory(prefix="mf-openapi-") as folder:
            done = subprocess.run(
                [command, "run", "http://127.0.0.1:%d/openapi.json" % g.port, "--checks", "not_a_server_error", "--max-examples",
                 str(args.examples), "--seed", str(args.seed), "--phases", "examples,coverage,fuzzing", "--generation-database", "none",
                 "--suppress-health-check", "all", "--request-timeout", "30", "--no-color"],
                cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=3600)
        words = done.stdout.decode(errors="replace")
        t.ok(done.returncode == 0, "schemathesis finds no 5xx", words[-6000:])
        t.note(words[-600:])
        m = g.metrics()
        bad = {k: v for k, v in m.items() if k.startswith("mayfly_http_requests_total") and 'status="5' in k}
        t.ok(not bad, "and the server has counted none", bad)
        item = g.run_code("print(1)")[0]
        t.ok(item["status"] == "completed", "the server works afterwards", item)
        t.ok(g.stop() == 0, "and ends well", g.log()[-2000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
