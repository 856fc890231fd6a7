#!/usr/bin/env python3
"""Guests that Python could never be: each trap that WebAssembly has, wild addresses in every host call, and lies in all
that the host reads from a guest's memory. Each ends its own call and nothing else; the worker stays.

    run.py TOOL-CACHE [-- options of mf-driver]

The guest is guest.c, made here with clang and with the tool that makes the real one; without them this is a skip."""
import argparse
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

CLANGS = ("clang-19", "clang-18", "clang-17", "clang")
FLAGS = ["--target=wasm32", "-nostdlib", "-O1", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-Wno-infinite-recursion",
         "-fno-builtin", "-I", os.path.join(TOP, "runtime"), "-Wl,--no-entry", "-Wl,--export=__stack_pointer",
         "-Wl,--stack-first", "-Wl,-z,stack-size=8388608", "-Wl,--initial-memory=16777216", "-Wl,--max-memory=4294967296"]

MIB = 1 << 20
# program, limits, status, reason, exit code, signal
TRAPS = [
    ("o a load far out of the memory", {}, "failed", "signal", None, 11),
    ("e a load one byte out of it", {}, "failed", "signal", None, 11),
    ("w a store far out of it", {}, "failed", "signal", None, 11),
    ("s the stack in the memory runs out", {}, "failed", "signal", None, 11),
    ("b the engine's stack runs out", {}, "failed", "signal", None, 11),
    ("i an indirect call past the table", {}, "failed", "signal", None, 11),
    ("n an indirect call to nothing", {}, "failed", "signal", None, 11),
    ("u unreachable", {}, "failed", "signal", None, 6),
    ("d a division by zero", {}, "failed", "signal", None, 6),
    ("l a loop, and its fuel", {"fuel": 10 ** 7}, "failed", "fuel", None, None),
    ("l a loop, and its time", {"wallMs": 50, "fuel": 10 ** 15}, "timed_out", "wall_time", None, None),
    ("z a sleep for a century", {"wallMs": 50}, "timed_out", "wall_time", None, None),
    ("c wild addresses in every host call", {}, "failed", "exit", 13, None),
    ("g memory to its limit", {"memoryBytes": 64 * MIB}, "failed", "memory", 1, None),
    ("G an abort without memory", {"memoryBytes": 64 * MIB}, "failed", "memory", None, None),
    ("x exit keeps a byte", {}, "failed", "exit", 7, None),
    ("W a word of all bits", {}, "failed", "exit", 255, None),
]
# letter of the lie, what it is, names of artifacts, reasons of refusals, whether the list itself failed
FILES = [
    ("g", "an honest list", ["file.txt"], [], False),
    ("a", "the list far out of the memory", [], [], True),
    ("b", "the list across its end", [], [], True),
    ("0", "no memory for the list", [], [], True),
    ("n", "a list of four billion", [], [], True),
    ("m", "a list of one too many", [], [], True),
    ("f", "entries far out of the memory", [], [], True),
    ("F", "entries across its end", [], [], True),
    ("N", "a name out of it", [], [], True),
    ("D", "content across its end", [], [], True),
    ("H", "the whole memory as a file, past the limit", ["file.txt"], ["over the size limit"], False),
    ("L", "a name of 64 KiB", [], ["its name"], False),
    ("U", "a name that leads out", [], ["its path"], False),
    ("M", "one name 4,096 times", ["file.txt"], None, False),
    ("T", "a trap while it lists", [], [], True),
    ("S", "a stack that runs out while it lists", [], [], True),
    ("R", "an endless list", [], [], True),
    ("X", "an exit instead of a list", [], [], True),
    ("W", "output after its end", ["file.txt"], [], False),
    ("l", "four billion more", ["file.txt"], None, False),
]


def find_tool(cache):
    tools = sorted(glob.glob(os.path.join(cache, "tool-*", "mayfly-wasm-tool")), key=os.path.getmtime)
    return tools[-1] if tools else None


def make_runtime(clang, tool, manifest, folder, *flags):
    os.mkdir(folder)
    wasm, snapshot, code = (os.path.join(folder, n) for n in ("guest.wasm", "snapshot.wasm", "guest.cwasm"))
    subprocess.run([clang, *FLAGS, *flags, os.path.join(HERE, "guest.c"), "-o", wasm], check=True)
    subprocess.run([tool, "snapshot", wasm, snapshot], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tool, "compile", snapshot, code], check=True, stdout=subprocess.DEVNULL)
    with open(code, "rb") as f:
        data = f.read()
    about = dict(manifest, id="wasm-traps", guest={
        "file": "guest.cwasm", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)})
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as f:
        json.dump(about, f)
    return folder


def works(d, pids):
    problems = []
    r = d.run_when_free("k")
    if (r["status"], r["stdout"]) != ("succeeded", "ok\n"):
        problems.append("the next call does not work: %s/%s %r" % (r["status"], r["reason"], r["stdout"]))
    if d.info()["workerPids"] != pids:
        problems.append("the worker was replaced")
    return problems


def trap(d, row):
    source, limits, status, reason, code, signal = row
    pids = d.info()["workerPids"]
    r = d.run_when_free(source, limits=limits)
    got = (r["status"], r["reason"], r["exitCode"], r["signal"])
    problems = [] if got == (status, reason, code, signal) else ["got %s" % (got,)]
    return problems + works(d, pids)


def lie(d, row):
    letter, _, names, reasons, fails = row
    pids = d.info()["workerPids"]
    r = d.run_when_free("F" + letter, limits={"artifactBytes": MIB, "artifactCount": 8})
    problems = []
    if (r["status"], r["exitCode"], r["stdout"]) != ("succeeded", 0, ""):
        problems.append("ended as %s/%s %r" % (r["status"], r["reason"], r["stdout"]))
    if [a["path"] for a in r["artifacts"]] != names:
        problems.append("artifacts %s" % r["artifacts"])
    refused = [e["reason"] for e in r["rejectedArtifacts"]]
    if reasons is None and not refused:
        problems.append("nothing was refused")
    elif reasons is not None and (len(refused) != len(reasons) or not all(w in e for w, e in zip(reasons, refused))):
        problems.append("refused %s" % r["rejectedArtifacts"])
    if fails != (r.get("diagnostic") == "files could not be collected"):
        problems.append("diagnostic %r" % r.get("diagnostic"))
    return problems + works(d, pids)


def wild_reserve(folder, options):
    """The job has no place in the memory: the guest is broken, and the provider says so at once."""
    try:
        with driver.Driver(["--provider", "wasm", "--wasm-runtime", folder, "--max-running", "1", *options]):
            return ["the provider took it"]
    except driver.NotReady as e:
        return [] if "cannot run a first program" in e.message else [e.message]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cache")
    parser.add_argument("runtime")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    places.need_provider("wasm", "driver")
    clang = next((c for c in CLANGS if shutil.which(c)), None)
    tool = find_tool(args.cache)
    if not clang or not tool:
        tap.skip_all("clang for wasm32 or the tool of scripts/setup-wasm-runtime is not here")
    t = tap.Tap()
    with open(os.path.join(args.runtime, "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with tempfile.TemporaryDirectory() as top:
        honest = make_runtime(clang, tool, manifest, os.path.join(top, "honest"))
        wild = make_runtime(clang, tool, manifest, os.path.join(top, "wild"), "-DWILD_RESERVE")
        with driver.Driver(["--provider", "wasm", "--wasm-runtime", honest, "--max-running", "1", *args.options]) as d:
            for row in TRAPS:
                t.check("trap: " + row[0][2:], trap(d, row))
            for row in FILES:
                t.check("files: " + row[1], lie(d, row))
        t.check("a job that has no place in the memory", wild_reserve(wild, args.options))
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
