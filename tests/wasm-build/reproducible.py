#!/usr/bin/env python3
"""The snapshot is the same, to the bit, when it is built again in another place: freezing, linking and the first start of
Python are done twice; CPython, Wasmtime and the tool are taken from the cache of the build.

    reproducible.py RUNTIME   the runtime that the program was built with: its snapshot is the third"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "lib"))
from tap import Tap, skip_all  # noqa: E402

# What is made from the guest's sources; the rest may come from the cache.
ANEW = ("frozen-", "module-", "snapshot-", "code-")


def build(cache, place):
    place.mkdir()
    for p in cache.iterdir():
        if not p.name.startswith(ANEW + ("logs", ".")):
            (place / p.name).symlink_to(p)
    return subprocess.run([sys.executable, str(TOP / "scripts" / "setup-wasm-runtime"), "--cache", str(place), "--only", "snapshot"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900)


def check(tap, scratch, done):
    """The digest of the snapshot; the key is the hash of all its inputs."""
    path = Path(done.stdout.strip())
    data = path.read_bytes()
    tap.ok(data.startswith(b"\0asm\1\0\0\0") and len(data) > 5 << 20, "it is a snapshot", len(data))
    tap.ok(os.fsencode(scratch) not in data and os.fsencode(TOP) not in data, "it does not name the place of the build")
    return hashlib.sha256(data).hexdigest(), (path.parent / "key").read_text()


def main():
    cache = Path(os.environ.get("MAYFLY_WASM_CACHE", TOP / "deps" / "wasm"))
    if not list(cache.glob("cpython-*")) or not list(cache.glob("wasmtime-compiler-*")):
        skip_all("no cross-compiled CPython in %s: make wasm" % cache)
    tap = Tap()
    made = []
    with tempfile.TemporaryDirectory() as scratch:
        # A third time only if somebody has changed the sources between the first two.
        for name in ("first", "in-another-place", "and-another"):
            done = build(cache, Path(scratch) / name)
            if not tap.ok(done.returncode == 0, "build " + name, done.stderr):
                sys.exit(tap.done())
            made.append(check(tap, scratch, done))
            if len(made) > 1 and made[-1][1] == made[-2][1]:
                break
    tap.ok(made[-1] == made[-2], "the last two are the same", *made)
    manifest = json.loads((Path(sys.argv[1]) / "manifest.json").read_text())
    for name, words in (("cpython.txt", "PYTHON SOFTWARE FOUNDATION LICENSE"), ("cpython-incorporated.rst", "Incorporated Software"),
                        ("zlib.txt", "Jean-loup Gailly"), ("rust-crates.txt", "wasmtime-c-api-impl " + manifest["wasmtime"])):
        path = Path(sys.argv[1]) / "licenses" / name
        tap.ok(path.is_file() and words in path.read_text(errors="replace"), "beside the runtime is the licence " + name)
    tap.note("the runtime of this build was made from %s" % manifest["snapshot_sha256"])
    sys.exit(tap.done())


main()
