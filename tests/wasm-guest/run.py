#!/usr/bin/env python3
"""Programs that check the guest of the wasm provider from inside, through whatever command runs them.

    run.py [--command TEMPLATE] [--jobs N] [--only PART]…

Each programs/NAME.py prints what programs/NAME.out has, or fails by an assertion of its own. Comments in its first lines
say what else is expected:

    # exit: 1            the command's exit status, as `mayfly run` gives it (default 0)
    # memory: 96         the memory limit in MiB (default 256)
    # stderr: words      words that standard error must have; none given: it must be empty
    # stderr-exact: NAME standard error is exactly programs/NAME
    # files: a.txt b/c   exactly these files are left (their contents are checked by the program itself)
    # distinct:          run twice, and the outputs must differ

TEMPLATE is split as a shell does; {program}, {memory} and {out} (a folder for files) are filled in. Lines of standard
error that begin with "mayfly: " are the command's own."""
import argparse
import concurrent.futures
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import places  # noqa: E402
import tap  # noqa: E402

PROGRAMS = os.path.join(HERE, "programs")
TIMEOUT_S = 300  # never reached: so that a test that hangs is seen


class Program:
    def __init__(self, name):
        self.name = name
        self.path = os.path.join(PROGRAMS, name + ".py")
        self.exit, self.memory, self.stderr, self.exact, self.files, self.distinct = 0, 256, [], None, None, False
        with open(self.path, encoding="utf-8") as f:
            for line in f:
                if not line.startswith("# "):
                    break
                key, _, value = line[2:].strip().partition(":")
                self.set(key, value.strip())
        with open(os.path.join(PROGRAMS, name + ".out"), encoding="utf-8", newline="") as f:
            self.out = f.read()

    def set(self, key, value):
        if key in ("exit", "memory"):
            setattr(self, key, int(value))
        elif key == "stderr":
            self.stderr.append(value)
        elif key == "stderr-exact":
            with open(os.path.join(PROGRAMS, value), encoding="utf-8") as f:
                self.exact = f.read()
        elif key == "files":
            self.files = sorted(value.split())
        elif key == "distinct":
            self.distinct = True
        else:
            raise SystemExit("%s: unknown word %r" % (self.path, key))


def run_once(program, template):
    folder = tempfile.mkdtemp(prefix="mf-guest-")
    out, main = os.path.join(folder, "out"), os.path.join(folder, "main.py")
    try:
        os.mkdir(out)
        shutil.copy(program.path, main)
        words = [w.format(program=main, memory=program.memory, out=out) for w in shlex.split(template)]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False)
        files = sorted(os.path.relpath(os.path.join(where, n), out) for where, _, names in os.walk(out) for n in names)
        stderr = "".join(line for line in done.stderr.decode("utf-8", "replace").splitlines(keepends=True)
                         if not line.startswith("mayfly: "))
        return done.returncode, done.stdout.decode("utf-8", "replace"), stderr, files
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def differences(program, status, stdout, stderr, files):
    problems = []
    if status != program.exit:
        problems.append("exit status %d, expected %d" % (status, program.exit))
    if stdout != program.out and not program.distinct:
        problems += ["standard output is", stdout[-3000:], "and should be", program.out[-3000:]]
    if program.exact is not None:
        if stderr != program.exact:
            problems += ["standard error should be", program.exact]
    else:
        problems += ["standard error lacks %r" % w for w in program.stderr if w not in stderr]
        if stderr and not program.stderr:
            problems.append("standard error should be empty")
    if program.files is not None and files != program.files:
        problems.append("left were %s, expected %s" % (files, program.files))
    return problems + (["standard error:", stderr[-3000:]] if problems else [])


def check(t, program, template):
    first = run_once(program, template)
    problems = differences(program, *first)
    if program.distinct and not problems:
        second = run_once(program, template)
        both = list(zip(first[1].splitlines(), second[1].splitlines()))
        problems = ["the same twice: %s" % a for a, b in both if a == b] or ([] if both else ["nothing was printed"])
    t.check(program.name, problems)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append")
    args = parser.parse_args()
    template = args.command or "%s run --provider wasm --server off --memory {memory} -o {out} {program}" % places.mayfly()
    t = tap.Tap()
    names = sorted(n[:-3] for n in os.listdir(PROGRAMS) if n.endswith(".py"))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        todo = [Program(n) for n in names if not args.only or any(o in n for o in args.only)]
        for done in [pool.submit(check, t, p, template) for p in todo]:
            done.result()
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
