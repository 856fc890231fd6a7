#!/usr/bin/env python3
"""schemathesis against /openapi.json: whatever it makes up, no answer is a 5xx, and the server is there afterwards. Once with
ids that it makes up or is told by an answer before, once with those of a task that is there, whose answers must also be as the document says.

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
from tasks import Server  # noqa: E402


def run(command, g, folder, args, *more):
    """The exit status, and what it said."""
    done = subprocess.run(
        [command, "run", "http://127.0.0.1:%d/openapi.json" % g.port, "--max-examples", str(args.examples), "--seed", str(args.seed),
         "--generation-database", "none", "--suppress-health-check", "all", "--request-timeout", "90", "--no-color", *more],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=3600)
    return done.returncode, done.stdout.decode(errors="replace")


def check_task(t, command, g, args):
    """The routes of one task. What it may not be is deleted."""
    task = g.run("print('\u00e9')\nopen('out.csv', 'w').write('a,b')\n", {"in.csv": b"a;b\n1;2\n"})
    with tempfile.TemporaryDirectory(prefix="mf-openapi-") as folder:
        with open(os.path.join(folder, "schemathesis.toml"), "w", encoding="utf-8") as f:
            f.write('[parameters]\n"path.taskId" = "%s"\n"path.artifactId" = "%s"\n' %
                    (task["taskId"], task["artifacts"][0]["artifactId"]))
        status, words = run(command, g, folder, args, "--checks",
                            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
                            "--phases", "examples,coverage,fuzzing", "--include-path-regex", "^/v1/tasks", "--exclude-method", "DELETE")
    t.ok(status == 0, "of a task that is there, every answer is as the document says", words[-6000:])
    t.note(words[-600:])
    t.ok(g.task(task["taskId"]) == task, "and the task is as it was")


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
    with gateway.Model({"run": gateway.RUN, "plain": gateway.PLAIN}) as model, Server(upstream=model) as g:
        status, document = g.get("/openapi.json")
        paths = document.get("paths", {}) if status == 200 else {}
        t.ok({"/v1/responses", "/v1/responses/{response_id}"} <= set(paths) or len(paths) >= 8, "/openapi.json names the routes", sorted(paths))
        with tempfile.TemporaryDirectory(prefix="mf-openapi-") as folder:
            status, words = run(command, g, folder, args, "--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing,stateful")
        t.ok(status == 0, "schemathesis finds no 5xx", words[-6000:])
        t.note(words[-600:])
        check_task(t, command, g, args)
        m = g.metrics()
        t.ok(m["mayfly_tasks_submitted_total"] > 1, "it has submitted tasks", m["mayfly_tasks_submitted_total"])
        bad = {k: v for k, v in m.items() if k.startswith("mayfly_http_requests_total") and 'status="5' in k}
        t.ok(not bad, "and the server has counted none", bad)
        item = g.run_code("print(1)")[0]
        t.ok(item["status"] == "completed", "the server works afterwards", item)
        t.ok(g.stop() == 0, "and ends well", g.log()[-2000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
