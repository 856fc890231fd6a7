#!/usr/bin/env python3
"""The official clients of the Responses API against `mayfly serve`, over the scripted model and a real sandbox.

    run.py [--only openai-python|openai-agents|openai-node|ai-sdk] [--url http://…/v1]

The clients are those of scripts/setup-sdk; the suite runs itself in their Python. --url: against a server that is there."""
import argparse
import json
import os
import subprocess
import sys

IN_SDK = "MF_IN_SDK_PYTHON" in os.environ
sys.dont_write_bytecode = not IN_SDK  # there it goes into the clients' folder, see below
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import places  # noqa: E402
import tap  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def enter_python():
    """Goes on in the Python that has the clients."""
    python = os.path.join(places.sdk() or "", "python", "bin", "python")
    if not os.path.exists(python):
        tap.skip_all("the clients are not set up (scripts/setup-sdk)")
    if not IN_SDK:
        cache = os.path.join(places.sdk(), "pycache")
        os.execve(python, [python, *sys.argv], dict(os.environ, MF_IN_SDK_PYTHON=python, PYTHONPYCACHEPREFIX=cache))


def run_node(t, program, url):
    import scenarios
    import strict

    env = dict(os.environ, NODE_PATH=os.path.join(places.sdk(), "node", "node_modules"), PANDAS=scenarios.PANDAS,
               PANDAS_OUTPUT=scenarios.PANDAS_OUTPUT, CASE_10_CODE=scenarios.CASE_10_CODE,
               CASE_10_OUTPUT=scenarios.CASE_10_OUTPUT)
    done = subprocess.run(["node", os.path.join(HERE, program), url], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=300, check=False)
    name, came = program.split(".")[0], []
    for line in done.stdout.decode().splitlines():
        said = json.loads(line)
        if "events" in said:
            came += strict.events(said["events"])
        elif "response" in said:
            came += strict.response(said["response"])
        else:
            t.check(said["check"], said["problems"])
    t.check(name + ": all that came, strictly of its type", came)
    t.ok(done.returncode == 0, name + " came to its end", "status %d" % done.returncode, done.stderr.decode()[-2000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--url")
    args = parser.parse_args()
    enter_python()
    import agents_python
    import gateway
    import leaks
    import openai_python
    import scenarios

    suites = {"openai-python": openai_python.run, "openai-agents": agents_python.run,
              "openai-node": lambda t, url: run_node(t, "openai-node.js", url),
              "ai-sdk": lambda t, url: run_node(t, "ai-sdk.js", url)}
    chosen = [run for name, run in suites.items() if not args.only or name in args.only]
    t = tap.Tap()
    if args.url:
        for run in chosen:
            run(t, args.url)
        return t.done()
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with gateway.Model(scenarios.ALL) as model:
        with gateway.Gateway(model, settings={"pool_data": 2, "max_concurrent_guests": 8, "max_aggregate_guest_memory_bytes": 8 << 27,
                                              "max_aggregate_worker_memory_bytes": 8 << 30}) as g:
            for run in chosen:
                run(t, g.url())
            t.ok(g.stop() == 0, "the gateway ends well", g.log()[-2000:])
        if not args.only or "openai-python" in args.only:
            with gateway.Gateway(model, interpreter=False, env={"MAYFLY_API_KEYS": "first-key,second-key"}) as g:
                openai_python.run_with_keys(t, g.url(), "second-key")
                asked = [r["headers"] for r in model.requests()[-3:]]
                t.ok("second-key" not in str(asked) + g.log(), "a client's key goes neither upstream nor into the log", asked)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
