"""Runs programs through `mayfly run --json`, giving the same dictionary as the driver does."""
import json
import os
import shutil
import subprocess
import tempfile

import places

# The exit status that the command gives for a result.
EXIT_TIMEOUT = 124
EXIT_OURS = 125
EXIT_MEMORY = 137


class CliError(Exception):
    """The command printed no result; carries its exit status and standard error."""

    def __init__(self, status, stderr):
        super().__init__("exit status %d: %s" % (status, stderr.strip()))
        self.status = status
        self.stderr = stderr


def command(*arguments, env=None, cwd=None, stdin=subprocess.DEVNULL, timeout=180):
    """Runs `mayfly ARGUMENTS…`; returns a CompletedProcess with bytes."""
    env = dict(os.environ if env is None else env)
    env.setdefault("MAYFLY_RUNTIME", places.runtime() or "")
    if places.wasm_runtime():
        env.setdefault("MAYFLY_WASM_RUNTIME", places.wasm_runtime())
    env.setdefault("MAYFLY_SERVER", "off")  # a server that this user happens to run is none of a test's business
    kwargs = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    return subprocess.run([places.mayfly(), *arguments], env=env, cwd=cwd, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout, check=False, **kwargs)


def expected_exit(result):
    """What the command's exit status must be for this result."""
    if result["status"] == "timed_out":
        return EXIT_TIMEOUT
    if result["reason"] == "memory":
        return EXIT_MEMORY
    if result["reason"] in ("worker_crash", "unavailable", "capacity"):
        return EXIT_OURS
    if result["signal"]:
        return 128 + result["signal"]
    if result["exitCode"] is None and result["reason"] in ("fuel", "output"):
        return 1
    return result["exitCode"]


def run(source, files=None, argv=(), limits=None, display_last=False, env=None, timeout=180, options=()):
    """One run; `options`: more of the command line; result["contents"] holds the artifacts as they were written, result["exit"] the exit status."""
    folder = tempfile.mkdtemp(prefix="mf-cli-")
    try:
        program = os.path.join(folder, "main.py")
        with open(program, "w", encoding="utf-8", newline="") as f:
            f.write(source)
        out = os.path.join(folder, "out")
        arguments = ["run", program, "--json", "-o", out, *options]
        for number, (name, data) in enumerate((files or {}).items()):
            path = os.path.join(folder, "input-%d" % number)
            with open(path, "wb") as f:
                f.write(data.encode() if isinstance(data, str) else data)
            arguments += ["-f", "%s:%s" % (path, name)]
        limits = dict(limits or {})
        if "wallMs" in limits:
            arguments += ["--timeout", str(limits.pop("wallMs"))]
        if "memoryBytes" in limits:
            arguments += ["--memory", str(limits.pop("memoryBytes") >> 20)]
        if "fuel" in limits:
            arguments += ["--fuel", str(limits.pop("fuel"))]
        if limits:
            raise ValueError("the command has no option for %s" % ", ".join(limits))
        if display_last:
            arguments += ["--display-last"]
        if argv:
            arguments += ["--", *argv]
        done = command(*arguments, env=env, timeout=timeout)
        try:
            result = json.loads(done.stdout)
        except ValueError:
            raise CliError(done.returncode, done.stderr.decode(errors="replace")) from None
        result["exit"] = done.returncode
        result["contents"] = {}
        for where, _, names in os.walk(out):
            for name in names:
                path = os.path.join(where, name)
                with open(path, "rb") as f:
                    result["contents"][os.path.relpath(path, out)] = f.read()
        return result
    finally:
        shutil.rmtree(folder, ignore_errors=True)
