"""What every part needs: failing with words, running programs, and steps whose results are kept by the hash of their
inputs."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WASM = ROOT / "runtime" / "wasm"
# 2025-01-01: what a compiler that asks for the time is told.
EPOCH = "1735689600"
KEEP = 3  # results of a step that are kept: going back to the last change is free

# What a developer's shell may have set must not end in the result.
DROPPED = ("CC", "CXX", "CPP", "AR", "RANLIB", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LIBS", "RUSTFLAGS",
           "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET", "CONFIG_SITE", "MAKEFLAGS", "MFLAGS",
           "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "PKG_CONFIG_PATH")


class Failure(Exception):
    pass


def say(text):
    print("setup-wasm-runtime: " + text, file=sys.stderr, flush=True)


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k not in DROPPED and not k.startswith("PYTHON")}
    env.update(LC_ALL="C", TZ="UTC", SOURCE_DATE_EPOCH=EPOCH, **more)
    return env


def output_of(*command, **more):
    """What a program prints, or "" when it is not there or fails."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=60, env=environment(), **more).stdout.decode("utf-8", "replace").strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def sha256_file(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while part := f.read(1 << 20):
            h.update(part)
    return h.hexdigest()


def digest(*parts):
    """One hash over texts and files: a file counts by its name and content, a folder by all that is in it."""
    h = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path) and part.is_dir():
            part = digest(*sorted(p for p in part.rglob("*") if p.is_file() and "__pycache__" not in p.parts))
        elif isinstance(part, Path):
            part = "%s %s" % (part.name, sha256_file(part))
        h.update(b"%d:%s," % (len(part.encode()), part.encode()))
    return h.hexdigest()


class Work:
    """The cache: a folder for each result, named by its step and the hash of its inputs."""

    def __init__(self, folder):
        self.folder = folder
        try:
            (folder / "logs").mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise Failure("cannot make the cache %s: %s" % (folder, e.strerror)) from None

    def log(self, name):
        return self.folder / "logs" / (name + ".log")

    def step(self, name, key, words, make):
        """The folder of what make(folder) made, now or in an earlier run."""
        done = self.folder / ("%s-%s" % (name, key[:16]))
        if done.is_dir():
            os.utime(done)
            return done
        with self.locked(name):
            if done.is_dir():
                return done
            if words:
                say(words)
            new = self.folder / (".%s.new" % name)  # always the same path: some compilers write it down
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            self.log(name).unlink(missing_ok=True)
            make(new)
            (new / "key").write_text(key + "\n")
            new.rename(done)
            self.forget(name)
        return done

    def forget(self, name):
        every = [p for p in self.folder.glob(name + "-*") if p.name[len(name) + 1:].isalnum()]
        for old in sorted(every, key=lambda p: p.stat().st_mtime, reverse=True)[KEEP:]:
            shutil.rmtree(old)

    @contextmanager
    def locked(self, name):
        with open(self.folder / (".%s.lock" % name), "w") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("another setup-wasm-runtime is at '%s'; waiting for it" % name)
                fcntl.flock(f, fcntl.LOCK_EX)
            yield

    def run(self, name, command, cwd, advice="", **more):
        """Runs a program of step `name`; what it says goes to the step's log, whose end is shown when it fails."""
        log = self.log(name)
        with open(log, "ab") as f:
            f.write(("+ %s\n" % " ".join(map(str, command))).encode())
            f.flush()
            try:
                code = subprocess.run(list(map(str, command)), cwd=cwd, stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                                      env=environment(**more)).returncode
            except OSError as e:
                raise Failure("%s: %s" % (command[0], e.strerror)) from None
        if code:
            last = log.read_text(errors="replace").splitlines()[-12:]
            raise Failure("%s failed (exit status %d); the end of %s:\n  %s%s"
                          % (command[0], code, log, "\n  ".join(last), "\n" + advice if advice else ""))


def key_of(folder):
    """The whole hash of a result's inputs."""
    return (folder / "key").read_text().strip()


def jobs():
    return "-j%d" % len(os.sched_getaffinity(0))
