"""What the suites of the command line share: a scratch folder to run in, and the program as any user may run it."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import places  # noqa: E402

NOBODY = 65534
OURS = 125
OVER = {}  # more environment for every command: a suite's own


class Place:
    """A folder of its own for one check; the working directory of what runs in it."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="mf-cli-")
        os.chmod(self.path, 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for where, names, _ in os.walk(self.path):
            for name in names:
                if not os.path.islink(os.path.join(where, name)):
                    os.chmod(os.path.join(where, name), 0o755)
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name, data=b""):
        path = os.path.join(os.fsencode(self.path), os.fsencode(name))
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return path

    def names(self):
        """Every file and folder below, sorted."""
        found = []
        for where, folders, files in os.walk(self.path):
            found += [os.path.relpath(os.path.join(where, n), self.path) for n in folders + files]
        return sorted(found)

    def read(self, name):
        with open(os.path.join(self.path, name), "rb") as f:
            return f.read()

    def run(self, *words, stdin=b"", env=None, user=None, timeout=120, program=None):
        """CompletedProcess of `mayfly WORDS…` with bytes."""
        return subprocess.run([program or places.mayfly(), *words], cwd=self.path, env=environment(env), input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, check=False,
                              **as_user(user))

    def start(self, *words, env=None, **streams):
        """A Popen of `mayfly WORDS…`."""
        for name in ("stdin", "stdout", "stderr"):
            streams.setdefault(name, subprocess.DEVNULL if name == "stdin" else subprocess.PIPE)
        return subprocess.Popen([places.mayfly(), *words], cwd=self.path, env=environment(env), **streams)


def environment(more=None):
    # "off": a server that this user happens to run is none of a test's business.
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8", "TERM": "xterm", "MAYFLY_SERVER": "off"}
    if places.runtime():
        env["MAYFLY_RUNTIME"] = places.runtime()
    if places.wasm_runtime():
        env["MAYFLY_WASM_RUNTIME"] = places.wasm_runtime()
    for name in ("LSAN_OPTIONS", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(OVER)
    env.update(more or {})
    return env


def as_user(uid):
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


def one_line(done, part, status=OURS):
    """Problems, unless the command failed with exactly one line that says `part`."""
    problems = []
    if done.returncode != status:
        problems.append("exit status %r, not %r" % (done.returncode, status))
    if done.stdout:
        problems.append("standard output: %r" % done.stdout[:200])
    lines = done.stderr.splitlines()
    if len(lines) != 1 or not done.stderr.endswith(b"\n") or not lines[0].startswith(b"mayfly: "):
        problems.append("not one line: %r" % done.stderr[:600])
    if (part if isinstance(part, bytes) else part.encode()) not in done.stderr:
        problems.append("%r is not in %r" % (part, done.stderr[:600]))
    return problems
