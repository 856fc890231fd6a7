#!/usr/bin/env python3
"""Guests that are no Python: guest/hostile.c keeps to the form of runtime/wasm/abi.h and to nothing else. Bad addresses and
lengths in every host call, a table of files that lies, traps, exits where there should be none: each is a result of its own
call, with the worker that it should have afterwards."""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import driver  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

CLANG = ["clang-19", "--target=wasm32", "-O1", "-nostdlib", "-mbulk-memory", "-Wall", "-Werror",
         "-Wno-infinite-recursion", "-ffreestanding", "-fno-builtin", "-Wl,--no-entry", "-Wl,-z,stack-size=1048576",
         "-Wl,--export=__stack_pointer", "-I", os.path.join(ROOT, "runtime")]
MIB = 1 << 20
MEMORY = 96 * MIB
FAILED_FILES = "files could not be collected"
# act: (status, reason, exit code, stdout or a pattern of it, other things that hold)
ACTS = {
    0: ("succeeded", "exit", 0, "", {}),
    1: ("succeeded", "exit", 0, "-21 " * 6 + "-8 " * 4 + "0 -21 -21 0 ", {}),
    2: ("succeeded", "exit", 0, "21 21 21 0 21 ", {}),
    3: ("succeeded", "exit", 0, "-1 -1 -1 -1 good good good ", {}),
    4: ("succeeded", "exit", 0, "slept", {}),
    5: ("timed_out", "wall_time", None, "", {"limits": {"wallMs": 500}}),
    6: ("failed", "exit", 255, "", {}),
    7: ("succeeded", "exit", 0, "", {}),
    8: ("failed", "exit", 255, "", {}),
    9: ("succeeded", "exit", 0, "", {}),
    10: ("succeeded", "exit", 0, r"%d " % (MEMORY >> 16), {}),
    11: ("failed", "signal", None, "", {"signal": 6}),
    12: ("failed", "signal", None, "", {"signal": 6}),
    13: ("failed", "signal", None, "", {"signal": 11}),
    14: ("failed", "signal", None, "", {"signal": 11}),
    15: ("failed", "signal", None, "", {"signal": 11}),
    16: ("failed", "signal", None, "", {"signal": 11}),
    17: ("failed", "signal", None, "", {"signal": 11}),
    18: ("failed", "fuel", None, "", {"limits": {"fuel": 10 ** 8}}),
    19: ("timed_out", "wall_time", None, "", {"limits": {"wallMs": 500, "fuel": 10 ** 15}}),
    20: (None, None, None, None, {}),
    21: ("timed_out", "wall_time", None, "", {"limits": {"wallMs": 500, "fuel": 10 ** 15}}),
    22: ("succeeded", "exit", 0, None, {"truncated": ["stdout"]}),
    23: ("failed", "fuel", None, "", {"limits": {"fuel": 10 ** 8}, "truncated": ["stderr"]}),
    24: ("succeeded", "exit", 0, r"\d+ ", {}),
}
# What the lists of files do: (artifacts, whether the answer says that files could not be collected).
FILES = {
    40: ([], True), 41: ([], True), 42: ([], True), 43: ([], True), 44: ([], True), 45: ([], True), 46: (["before"], True),
    47: ([], True), 48: ([], True), 49: ([], True), 50: (None, False), 51: ([], False), 52: ([], True), 53: ([], True),
    54: ([], True), 55: ([], True), 56: ([], False), 57: (["good"], False), 58: (["a\\..\\b", "good"], False), 59: ([], False),
    60: ([], True), 61: (["same"], False),
}
# What such a guest does at its start: (options of the compiler, what the refusal says).
STARTS = {
    "no memory for the job": (["-DRESERVE=1"], "cannot run a first program .*reason 'memory'"),
    "an address of all ones": (["-DRESERVE=2"], "cannot run a first program .*worker_crash"),
    "an address one byte too high": (["-DRESERVE=3"], "cannot run a first program .*worker_crash"),
    "an address in the middle of nowhere": (["-DRESERVE=9"], "cannot run a first program .*worker_crash"),
    "a loop before the job": (["-DRESERVE=5"], "cannot run a first program .*(reason 'fuel'|did not answer)"),
    "a trap before the job": (["-DRESERVE=6"], "cannot run a first program .*worker_crash"),
    "words before the beginning": (["-DRESERVE=7"], "cannot run a first program"),
    "an import that nobody offers": (["-DRESERVE=0", "-DIMPORT_MORE"], "link the guest|cannot start"),
    "no mayfly_reserve": (["-DRESERVE=0", "-DNO_RESERVE"], "cannot run a first program .*worker_crash"),
}
ONE_LINE = re.compile(r"[^\x00-\x1f\x7f]*")


class Maker:
    def __init__(self, folder):
        self.folder = folder
        self.n = 0
        made = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "setup-wasm-runtime"), "--only", "tool"],
                              capture_output=True, text=True, check=False)
        self.tool = made.stdout.strip().splitlines()[-1] if made.returncode == 0 else None
        self.why = made.stderr.strip()
        with open(os.path.join(places.wasm_runtime(), "manifest.json"), encoding="utf-8") as f:
            self.manifest = json.load(f)

    def runtime(self, defines):
        """A folder as scripts/setup-wasm-runtime makes it, with a hostile guest in it."""
        self.n += 1
        folder = os.path.join(self.folder, str(self.n))
        os.mkdir(folder)
        wasm = os.path.join(folder, "hostile.wasm")
        subprocess.run([*CLANG, *defines, "-o", wasm, os.path.join(HERE, "guest", "hostile.c")], check=True)
        code = os.path.join(folder, "guest.cwasm")
        subprocess.run([self.tool, "compile", wasm, code], check=True)
        self.describe(folder)
        return folder

    def describe(self, folder):
        with open(os.path.join(folder, "guest.cwasm"), "rb") as f:
            data = f.read()
        guest = dict(self.manifest["guest"], sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
        with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as f:
            json.dump(dict(self.manifest, guest=guest), f)


def run(d, number, limits=None):
    most = {"memoryBytes": MEMORY, "fuel": 10 ** 9, "stdoutBytes": 10000, "stderrBytes": 10000, "artifactCount": 8,
            "artifactBytes": MIB}
    return d.run_when_free("#%d\n" % number, content=True, limits=dict(most, **(limits or {})))


def next_problems(d, before):
    result = run(d, 0)
    info = d.info()
    problems = []
    if (result["status"], result["stdout"]) != ("succeeded", ""):
        problems.append("the next call: %s/%s %r" % (result["status"], result["reason"], result["diagnostic"]))
    if info["workerPids"] != before["workerPids"]:
        problems.append("the worker was replaced")
    if info["providerBusy"] or info["busy"]:
        problems.append("permits %d, busy %d" % (info["providerBusy"], info["busy"]))
    return problems


def check_acts(t, d):
    for number, (status, reason, code, stdout, more) in ACTS.items():
        before = d.info()
        r = run(d, number, more.get("limits"))
        problems = []
        if status and (r["status"], r["reason"], r["exitCode"]) != (status, reason, code):
            problems.append("%s/%s exit code %s, %r" % (r["status"], r["reason"], r["exitCode"], r["diagnostic"]))
        if stdout is not None and not re.fullmatch(stdout, r["stdout"]):
            problems.append("stdout %r" % r["stdout"][:300])
        if r["signal"] != more.get("signal") and status:
            problems.append("signal %s" % r["signal"])
        if any(r["truncated"][s] != (s in more.get("truncated", [])) for s in ("stdout", "stderr")) and status:
            problems.append("truncated %s" % r["truncated"])
        if r["reason"] == "worker_crash" or len(r["stdout"]) > 10000 or len(r["stderr"]) > 10000:
            problems.append("%s, %d and %d characters" % (r["reason"], len(r["stdout"]), len(r["stderr"])))
        t.check("act %d" % number, problems + next_problems(d, before))


def check_left(t, d):
    """What a call left in the memory of its worker is not there in the next one, however it ended."""
    clean = run(d, 29, {"fuel": 10 ** 11})["stdout"]
    t.ok(re.fullmatch(r"\d+ 77 0 0 \d ", clean), "a memory that nobody has used", clean)
    problems = []
    for n in range(12):
        marking = (25, 26, 27, 28)[n % 4]
        before = d.info()
        left = run(d, marking, {"fuel": 4 * 10 ** 8})
        found = run(d, 29, {"fuel": 10 ** 11})["stdout"]
        if found != clean or d.info()["workerPids"] != before["workerPids"]:
            problems.append("after act %d (%s/%s): %r, before %r; workers %s, before %s" % (
                marking, left["status"], left["reason"], found, clean, d.info()["workerPids"], before["workerPids"]))
    t.check("nothing of a call is left in its worker", problems)


def check_files(t, d):
    for number, (names, failed) in FILES.items():
        before = d.info()
        r = run(d, number, {"artifactCount": 64} if number == 58 else None)
        problems = []
        if (r["status"], r["reason"], r["exitCode"]) != ("succeeded", "exit", 0):
            problems.append("%s/%s exit code %s" % (r["status"], r["reason"], r["exitCode"]))
        found = [a["path"] for a in r["artifacts"]]
        if names is not None and found != names:
            problems.append("artifacts %s, refused %s" % (found, r["rejectedArtifacts"]))
        if (r["diagnostic"] == FAILED_FILES) != failed:
            problems.append("diagnostic %r" % r["diagnostic"])
        size = sum(len(c) for c in r["contents"].values())
        if len(found) > 8 or size > MIB or len(r["rejectedArtifacts"]) > 66:
            problems.append("%d artifacts, %d bytes, %d refused" % (len(found), size, len(r["rejectedArtifacts"])))
        if "words" in r["stdout"] or r["stderr"]:
            problems.append("it spoke after its end: %r %r" % (r["stdout"], r["stderr"]))
        if any(not ONE_LINE.fullmatch(a["path"]) for a in r["rejectedArtifacts"]):
            problems.append("a refused name that is not escaped: %s" % r["rejectedArtifacts"])
        t.check("files, act %d" % number, problems + next_problems(d, before))


def check_starts(t, maker):
    def refused(name, folder, words):
        try:
            with driver.Driver(["--provider", "wasm", "--max-running", "1", "--wasm-runtime", folder]) as d:
                t.ok(False, name + ": it is ready", d.info())
        except driver.NotReady as e:
            t.ok(e.code == "unavailable" and re.search(words, e.message), name + ": refused", e)
        t.check(name + ": nothing is left", leaks.strays_left())

    for name, (defines, words) in STARTS.items():
        refused(name, maker.runtime(defines), words)
    good = maker.runtime(["-DRESERVE=0"])
    code = os.path.join(good, "guest.cwasm")
    with open(code, "rb") as f:
        data = f.read()
    for name, changed in (("code of zeros", bytes(len(data))), ("code that is cut", data[:len(data) // 2]),
                          ("code that is WebAssembly, not compiled", b"\0asm\1\0\0\0"), ("code of one byte", b"x")):
        with open(code, "wb") as f:
            f.write(changed)
        refused(name + ", another digest", good, "not what the manifest describes")
        maker.describe(good)
        refused(name, good, "deserialization")


def main():
    places.need_provider("wasm", "driver")
    for tool in ("clang-19", "wasm-ld-19"):
        if not any(os.access(os.path.join(p, tool), os.X_OK) for p in os.environ.get("PATH", "").split(":")):
            tap.skip_all("%s is not installed (scripts/setup --wasm)" % tool)
    t = tap.Tap()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        maker = Maker(folder)
        if not maker.tool:
            tap.skip_all("the tool that compiles guests cannot be made: " + maker.why[-200:])
        options = ["--provider", "wasm", "--max-running", "1"]
        with driver.Driver([*options, "--wasm-runtime", maker.runtime(["-DRESERVE=0"])]) as d:
            check_acts(t, d)
            check_files(t, d)
            check_left(t, d)
        with driver.Driver([*options, "--wasm-runtime", maker.runtime(["-DRESERVE=8"])]) as d:
            r = d.run("#24\n", limits={"memoryBytes": MEMORY})
            t.ok(r["status"] == "succeeded", "memory that grows while the job is placed", r["status"], r["reason"])
        check_starts(t, maker)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
