"""Wasmtime as two static libraries, from pinned crates: with the compiler for the build tool, without it for the program."""

import re
import shutil
from pathlib import Path

from . import tools
from .base import WASM, Failure, digest

VERSION = "48.0.8"
ADVICE = ("Cargo needs its crates from the network once. Without one: on a machine that has it, run `cargo fetch --locked` in "
          "runtime/wasm/wasmtime/compiler and runtime/wasm/wasmtime/runtime, and bring the folder CARGO_HOME (~/.cargo) here.")


def compiler(work):
    return library(work, "compiler", "compiling Wasmtime with its compiler (about three minutes)")


def runtime(work):
    return library(work, "runtime", "compiling Wasmtime without its compiler (about a minute)")


def library(work, name, words):
    """A folder with lib<name>.a of that crate in lib/, and include/."""
    crate = WASM / "wasmtime" / name
    step = "wasmtime-" + name
    key = digest("crates 1", crate / "Cargo.toml", crate / "Cargo.lock", crate / "src", tools.rust_identity())
    return work.step(step, key, words, lambda d: make(work, step, crate, d))


def make(work, step, crate, d):
    target = d / "target"
    work.run(step, ["cargo", "fetch", "--locked"], crate, ADVICE)
    work.run(step, ["cargo", "build", "--locked", "--offline", "--release", "--target-dir", target], crate,
             CARGO_INCREMENTAL="0")
    (d / "lib").mkdir()
    for p in (target / "release").glob("lib*.a"):
        p.rename(d / "lib" / p.name)
    headers = list((target / "release" / "build").glob("wasmtime-c-api-impl-*/out/include"))
    if len(headers) != 1:
        raise Failure("Wasmtime's headers are not where they were expected, below %s" % target)
    headers[0].rename(d / "include")
    shutil.rmtree(target)
    found = version_in(d / "include")
    if found != VERSION:
        raise Failure("%s/Cargo.lock has Wasmtime %s, not %s" % (crate, found, VERSION))


def version_in(include):
    text = (Path(include) / "wasmtime.h").read_text()
    m = re.search(r'#define WASMTIME_VERSION "([^"]*)"', text)
    return m[1] if m else None
