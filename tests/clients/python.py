#!/usr/bin/env python3
"""clients/python against `mayfly serve`.

    python.py [--only PART]      --only: the checks with this in their name"""
import os
import subprocess
import sys
import tempfile

import servers

import tap

CLIENT = os.path.join(servers.ROOT, "clients", "python")


def run_examples(t, url):
    examples = (("the example", ["succeeded"]), ("the asynchronous example", ["stdout 0\n", "2\n", "status"]))
    for number, (what, shows) in enumerate(examples):
        with tempfile.TemporaryDirectory(prefix="mf-python-") as folder:
            servers.prepare(folder)
            path = os.path.join(folder, "example.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write(servers.example(os.path.join(CLIENT, "README.md"), "python", number).replace("{URL}", url))
            env = dict(os.environ, PYTHONPATH=CLIENT, PYTHONDONTWRITEBYTECODE="1", MAYFLY_API_KEY="first-key")
            done = subprocess.run([sys.executable, "-X", "utf8", path], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=env, timeout=300, check=False)
            servers.check_example(t, "python: %s of the README" % what, folder, done, shows)


def main():
    sys.path[:0] = [CLIENT, os.path.join(CLIENT, "tests")]
    import live
    t = tap.Tap()
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
    with servers.running(t) as (big, small):
        live.run(t, big.url()[:-3], small.url()[:-3], big.home, only)
        run_examples(t, big.url()[:-3])
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
