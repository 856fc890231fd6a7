#!/usr/bin/env python3
"""scripts/setup-wasm-runtime on machines that lack something: each has a PATH of small scripts instead of tools, and a
cache of its own. What it says must name the lack and the remedy. Nothing is fetched and nothing real is compiled."""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests" / "lib"))
sys.path.insert(0, str(TOP / "scripts"))
from tap import Tap  # noqa: E402
from wasmruntime import artifact, crates, licenses  # noqa: E402
from wasmruntime.base import Work  # noqa: E402

# What a machine has that has everything. Each records its call.
LLVM = ("clang-19", "clang++-19", "wasm-ld-19", "llvm-ar-19", "llvm-ranlib-19", "llvm-readelf-19")
CARGO = """
case $1 in
  --version) echo 'cargo 1.95.0 (0000000 2026-01-01)' ;;
  fetch) exit 0 ;;
  build)
    while [ "$1" != --target-dir ]; do shift; done
    mkdir -p "$2/release/build/wasmtime-c-api-impl-0/out/include"
    echo library > "$2/release/libmf_fake.a"
    echo '#define WASMTIME_VERSION "48.0.8"' > "$2/release/build/wasmtime-c-api-impl-0/out/include/wasmtime.h" ;;
esac
"""
OTHERS = {"cargo": CARGO, "rustc": "echo rustc 1.95.0", "cc": "echo cc 12", "make": "", "cmake": ""}


class Machine:
    def __init__(self, folder):
        self.folder, self.bin = Path(folder), Path(folder) / "bin"
        self.bin.mkdir()
        for name in ("sh", "mkdir", "cat", "echo", "touch"):
            real = next(Path(d) / name for d in ("/usr/bin", "/bin") if (Path(d) / name).exists())
            (self.bin / name).symlink_to(real)
        for name in LLVM:
            self.tool(name, "")
        for name, body in OTHERS.items():
            self.tool(name, body)

    def tool(self, name, body):
        p = self.bin / name
        p.write_text('#!%s/sh\necho "%s $*" >> %s/calls\n%s\n' % (self.bin, name, self.folder, body))
        p.chmod(0o755)

    def without(self, *names):
        for name in names:
            (self.bin / name).unlink()

    def calls(self, start):
        log = self.folder / "calls"
        return [c for c in (log.read_text().splitlines() if log.exists() else []) if c.startswith(start)]

    def run(self, *args, **more):
        env = {"PATH": str(self.bin), "HOME": str(self.folder)}
        env.update(more)
        command = [sys.executable, str(TOP / "scripts" / "setup-wasm-runtime"), "--cache", str(self.folder / "cache")]
        done = subprocess.run(command + list(args), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr


def fails(tap, name, machine, args, words, lacks=(), **more):
    code, out, err = machine.run(*args, **more)
    problems = [] if code == 1 else ["exit status %d" % code]
    problems += ["it does not say: " + w for w in words if w not in err]
    problems += ["it says: " + w for w in lacks if w in err]
    if "Traceback" in err or len(err.splitlines()) > 40:
        problems.append("that is not for people")
    if out:
        problems.append("stdout is not empty: " + out)
    tap.check(name, problems + (["--- stderr", err] if problems else []))


def tools(tap, new):
    m = new()
    m.without("clang-19", "clang++-19")
    fails(tap, "no clang", m, [], ["clang-19", "apt-get install", "scripts/setup --wasm"], ["lld-19", "Rust"])
    m = new()
    m.without("cargo")
    fails(tap, "no cargo", m, [], ["cargo", "Rust 1.95 or newer", "cargo-web", "rustup"], ["clang-19", "does not run"])
    m = new()
    m.tool("cargo", "echo cargo 1.63.1")
    fails(tap, "an old cargo", m, [], ["Rust 1.95 or newer", "1.63", str(m.bin / "cargo"), "rustup"], ["clang-19"])
    m = new()
    m.tool("cargo", "echo 'error: no default is configured' >&2; exit 1")
    fails(tap, "a cargo that does not run", m, [], ["Rust 1.95 or newer", str(m.bin / "cargo"), "does not run", "rustup default"],
          ["clang-19", "apt-get install"])
    m = new()
    m.tool("clang-19", "exit 1")
    fails(tap, "no C library for WASI", m, [], ["wasi-libc", "libclang-rt-19-dev-wasm32"])
    m = new()
    m.without("cargo", "cmake", "wasm-ld-19", "llvm-ar-19")
    fails(tap, "several at once", m, [], ["cargo", "cmake", "lld-19", "llvm-19"])
    m = new()
    (m.folder / "cache").write_text("a file")
    fails(tap, "a cache that cannot be", m, [], ["cannot make the cache"])


def tarballs(tap, new):
    wrong = new()
    (wrong.folder / "x.tar.xz").write_bytes(b"not CPython")
    fails(tap, "a tarball of another content", wrong, ["--cpython", "x.tar.xz"],
          ["not the source of CPython 3.13.5", "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640",
           hashlib.sha256(b"not CPython").hexdigest()])
    fails(tap, "the same by its variable", wrong, [], ["not the source of CPython"], MAYFLY_CPYTHON_TARBALL="x.tar.xz")
    fails(tap, "a tarball that is not there", wrong, ["--cpython", "none.tar.xz"], ["there is no file none.tar.xz"])
    fails(tap, "no tarball and no apt", new(), [], ["no apt-get", "--cpython", "MAYFLY_CPYTHON_TARBALL", "python3.13_3.13.5.orig.tar.xz"])
    m = new()
    m.tool("apt-get", "case $* in indextargets*) echo 'Packages mirror:/debian/ main' ;; *) echo 'Could not resolve' >&2; exit 100 ;; esac")
    fails(tap, "apt without a network", m, ["--only", "sources"], ["could not be fetched", "Could not resolve", "--cpython"])
    m.tool("apt-get", "case $* in indextargets*) echo 'Packages mirror:/debian/ main' ;; *) echo 'no route' >&2; exit 100 ;; esac")
    fails(tap, "the second time it says what was wrong now", m, ["--only", "sources"], ["no route"], ["Could not resolve"])
    tap.ok(m.calls("apt-get") and all("install" not in c for c in m.calls("apt-get")), "nothing was installed")
    update = [c for c in m.calls("apt-get") if "update" in c]
    tap.ok(update and all("Dir::Etc::sourcelist=/dev/null" in c and "Dir::State::lists=" + str(m.folder) in c for c in update),
           "apt worked on lists of its own", update)
    tap.ok(update and all("APT::Update::Error-Mode=any" in c for c in update), "an update that reached nothing is a fault", update)
    m = new()
    m.tool("apt-get", "case $* in indextargets*) echo 'Packages mirror:/debian/ main' ;; "
                      "*source*) echo other > python3.13_3.13.5.orig.tar.xz ;; esac")
    fails(tap, "an archive with another tarball", m, ["--only", "sources"], ["not the source of CPython 3.13.5"])
    tap.ok(not (m.folder / "cache" / "sources" / "python3.13_3.13.5.orig.tar.xz").exists(), "which is not kept")


def cargo(tap, new):
    m = new()
    m.tool("cargo", CARGO.replace("fetch) exit 0", "fetch) echo 'failed to fetch' >&2; exit 101"))
    fails(tap, "crates without a network", m, ["--only", "crates"], ["failed to fetch", "cargo fetch --locked", "CARGO_HOME"])
    m = new()
    m.tool("cargo", CARGO.replace("48.0.8", "47.0.0"))
    fails(tap, "crates of another Wasmtime", m, ["--only", "crates"], ["Wasmtime 47.0.0, not 48.0.8"])
    m = new()
    code, out, err = m.run("--only", "crates")
    folders = [Path(p) for p in out.split()]
    tap.ok(code == 0 and len(folders) == 2 and all((f / "lib" / "libmf_fake.a").is_file() for f in folders), "both crates are built", err)
    tap.ok(len(m.calls("cargo build")) == 2 and all("--locked" in c for c in m.calls("cargo build")), "locked", m.calls("cargo"))
    again = m.run("--only", "crates")
    tap.ok(again == (0, out, "") and len(m.calls("cargo build")) == 2, "and not built again", again)
    m.tool("rustc", "echo rustc 1.96.0")
    tap.ok(m.run("--only", "crates")[1] != out and len(m.calls("cargo build")) == 4, "unless the compiler is another")


def make_artifact(folder, **changed):
    (folder / "include").mkdir(parents=True)
    (folder / "lib").mkdir()
    for name in artifact.FILES:
        (folder / name).write_text("something")
    digest = hashlib.sha256(b"something").hexdigest()
    manifest = dict(artifact.wanted(), id="x", python="3.13.5", guest={"file": "guest.cwasm", "sha256": digest, "bytes": 9})
    manifest.update(changed)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def artifacts(tap, new):
    m = new()
    good = make_artifact(m.folder / "good")
    wanted = artifact.wanted()
    tap.ok(wanted["wasmtime"] == crates.VERSION == "48.0.8", "the wanted version is the pinned one", wanted)
    tap.ok(m.run("--find", str(good)) == (0, "%s\n" % good, ""), "a runtime is found where it is said to be")
    tap.ok(m.run("--find", MAYFLY_WASM_RUNTIME=str(good))[1] == "%s\n" % good, "by its variable")
    tap.ok(m.run("--out", str(good), "--find")[1] == "%s\n" % good, "in the place for new ones")
    tap.ok(m.run("--find", str(good), MAYFLY_WASM_RUNTIME="/none")[1] == "%s\n" % good, "what is said goes before the variable")
    fails(tap, "the variable before the place", m, ["--out", str(good), "--find"], ["/none/manifest.json", "make wasm"], MAYFLY_WASM_RUNTIME="/none")
    for key, value in (("format", 9), ("abi", 9), ("wasmtime", "47.0.0")):
        bad = make_artifact(m.folder / ("bad-" + key), **{key: value})
        fails(tap, "another " + key, m, ["--find", str(bad)], ["another version", key, json.dumps(value), json.dumps(wanted[key]),
                                                             "scripts/setup-wasm-runtime"])
    for name, value in (("older", "0" * 64), ("before", None)):
        bad = make_artifact(m.folder / name, sources_sha256=value)
        fails(tap, "a runtime of other sources, " + name, m, ["--find", str(bad)],
              [str(bad), "other sources of the guest", "scripts/setup-wasm-runtime"], ["sha256"])
    good = make_artifact(m.folder / "elsewhere", inputs_sha256="0" * 64, snapshot_sha256="0" * 64)
    tap.ok(m.run("--find", str(good))[0] == 0, "one of the same sources that another compiler made")
    for name in artifact.FILES:
        bad = make_artifact(m.folder / ("without-" + name.replace("/", "-")))
        (bad / name).unlink()
        fails(tap, "without " + name, m, ["--find", str(bad)], ["not whole", name, "make wasm"])
    bad = make_artifact(m.folder / "damaged")
    (bad / "guest.cwasm").write_text("something else")
    fails(tap, "a damaged guest", m, ["--find", str(bad)], ["damaged", "guest.cwasm", "make wasm"])
    for text, words in (("{", "is no JSON"), ("[]", "is no manifest")):
        bad = make_artifact(m.folder / ("text%d" % len(text)))
        (bad / "manifest.json").write_text(text)
        fails(tap, "a manifest that is %s" % text, m, ["--find", str(bad)], [words, "make wasm"])


def assembled(tap, new):
    """Putting the folder together, of parts that are none."""
    place = new().folder
    for name in ("code", "runtime", "snapshot"):
        (place / name).mkdir()
        (place / name / "key").write_text(name)
    (place / "code" / "guest.cwasm").write_text("code")
    (place / "snapshot" / "snapshot.wasm").write_text("snapshot")
    for name in artifact.FILES[1:]:
        (place / "runtime" / name).parent.mkdir()
        (place / "runtime" / name).write_text("something")
    texts, out = place / "texts", place / "out"
    texts.mkdir()
    (texts / "cpython.txt").write_text("a licence")

    def put_together():
        return artifact.assemble(out, place / "snapshot", place / "code", place / "runtime", texts)

    tap.ok(put_together() and (out / "licenses" / "cpython.txt").read_text() == "a licence", "a runtime with its licences")
    tap.ok(not put_together(), "is left alone")
    (out / "licenses" / "cpython.txt").unlink()
    (out / "licenses").rmdir()
    tap.ok(put_together() and (out / "licenses" / "cpython.txt").is_file(), "one without them is made anew")


def crate_licenses(tap, new):
    m = new()
    crates_of = {}
    for name, text in (("root", None), ("engine", "MIT text"), ("part", "MIT text"), ("tool", "never linked")):
        crates_of[name] = m.folder / name
        crates_of[name].mkdir()
        if text:
            (crates_of[name] / "LICENSE-MIT").write_text(text + "\n")
    told = {"packages": [{"id": n, "name": n, "version": "1.0", "license": "MIT", "manifest_path": str(d / "Cargo.toml")}
                         for n, d in crates_of.items()],
            "resolve": {"root": "root", "nodes": [
                {"id": a, "deps": [{"pkg": b, "dep_kinds": [{"kind": kind}]} for b, kind in deps]}
                for a, deps in (("root", [("engine", None)]), ("engine", [("part", None), ("tool", "build"), ("engine", "dev")]),
                                ("part", [("engine", None)]), ("tool", []))]}}
    (m.folder / "told.json").write_text(json.dumps(told))
    m.tool("cargo", "case $1 in metadata) cat %s/told.json ;; esac" % m.folder)
    path, os.environ["PATH"] = os.environ["PATH"], str(m.bin)
    try:
        text = licenses.of_crates(Work(m.folder / "cache"), m.folder, m.folder)
    finally:
        os.environ["PATH"] = path
    tap.ok("engine 1.0: MIT\npart 1.0: MIT\n\n" in text and "engine 1.0, part 1.0\n\nMIT text\n" in text,
           "the crates that are linked, each text once", text)
    tap.ok("tool" not in text and text.count("MIT text") == 1, "and no others", text)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as scratch:
        n = 0

        def new():
            nonlocal n
            n += 1
            folder = Path(scratch) / ("machine%d" % n)
            folder.mkdir()
            return Machine(folder)

        for part in (tools, tarballs, cargo, artifacts, assembled, crate_licenses):
            part(tap, new)
    sys.exit(tap.done())


main()
