#!/usr/bin/env python3
"""clients/typescript, compiled as its package.json says, installed into a project, against `mayfly serve`.

    typescript.py [--unit]      --unit: only what needs no server"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import servers

import places
import tap

CLIENT = os.path.join(servers.ROOT, "clients", "typescript")
MIN_NODE = 18


def need():
    try:
        version = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    except (OSError, subprocess.CalledProcessError):
        tap.skip_all("node is not installed (scripts/setup --tests)")
    if int(version.lstrip("v").split(".")[0]) < MIN_NODE:
        tap.skip_all("node is %s, the client needs %d" % (version, MIN_NODE))
    if not places.typescript():
        tap.skip_all("the compiler is not set up (scripts/setup-sdk)")


def run(argv, folder, **env):
    return subprocess.run(argv, cwd=folder, env=dict(os.environ, **env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False)


def install(t, folder):
    """As `npm run build` and `npm install FOLDER` do it. The sources stay as they are."""
    package = os.path.join(folder, "node_modules", "mayfly-client")
    os.makedirs(package)
    shutil.copy(os.path.join(CLIENT, "package.json"), package)
    done = run([places.typescript(), "-p", CLIENT, "--outDir", os.path.join(package, "dist")], folder)
    t.ok(done.returncode == 0, "the client compiles, strictly", done.stdout.decode()[-2000:])
    for name in os.listdir(os.path.join(CLIENT, "tests")):
        shutil.copy(os.path.join(CLIENT, "tests", name), folder)
    done = run([places.typescript(), "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target",
                "es2022", "--lib", "es2022,dom", "types.ts"], folder)
    t.ok(done.returncode == 0, "its types are the interface", done.stdout.decode()[-2000:])


def run_checks(t, folder, program, **env):
    """Line by line, so that one which hangs can be seen."""
    with tempfile.TemporaryFile() as errors, subprocess.Popen(
            ["node", program], cwd=folder, env=dict(os.environ, **env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=errors) as process:
        for line in process.stdout:
            said = json.loads(line)
            t.check("typescript: " + said["check"], said["problems"])
        process.wait()
        errors.seek(0)
        t.ok(process.returncode == 0, program + " came to its end", "status %d" % process.returncode,
             errors.read().decode()[-2000:])


def run_example(t, folder, url):
    servers.prepare(folder)
    with open(os.path.join(folder, "example.mjs"), "w", encoding="utf-8") as f:
        f.write(servers.example(os.path.join(CLIENT, "README.md"), "js").replace("{URL}", url))
    done = run(["node", "example.mjs"], folder, MAYFLY_API_KEY="first-key")
    servers.check_example(t, "typescript: the example of the README", folder, done, ["succeeded"])


def main():
    need()
    t = tap.Tap()
    with tempfile.TemporaryDirectory(prefix="mf-typescript-") as folder:
        install(t, folder)
        run_checks(t, folder, "unit.mjs")
        if "--unit" not in sys.argv:
            with servers.running(t) as (big, small):
                run_checks(t, folder, "live.mjs", MF_URL=big.url()[:-3], MF_SMALL_URL=small.url()[:-3])
                run_example(t, folder, big.url()[:-3])
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
