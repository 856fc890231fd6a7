"""The folder that meson and the worker read: its manifest, putting it together, and looking at one that is there."""

import json
import os
import re
import shutil
from pathlib import Path

from . import crates, cpython, guest
from .base import WASM, Failure, digest, key_of, sha256_file

REMEDY = "make one with scripts/setup-wasm-runtime (make wasm does it where MAYFLY_WASM_RUNTIME is not set)"
FILES = ("guest.cwasm", "include/wasmtime.h", "lib/libmf_wasmtime.a")


def abi_number(name):
    m = re.search(r"#define %s (\d+)u" % name, (WASM / "abi.h").read_text())
    return int(m[1])


def wanted():
    """What a runtime must say of itself to be one for this source."""
    return {"format": abi_number("MF_GUEST_FORMAT"), "abi": abi_number("MF_GUEST_ABI"), "wasmtime": crates.VERSION,
            "sources_sha256": guest.sources_digest()}


def read(folder):
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text())
    except OSError as e:
        raise Failure("%s: %s" % (path, e.strerror)) from None
    except ValueError:
        raise Failure("%s is no JSON" % path) from None
    if not isinstance(manifest, dict):
        raise Failure("%s is no manifest" % path)
    return manifest


def check(folder):
    manifest, want = read(folder), wanted()
    sources = want.pop("sources_sha256")
    for name, value in want.items():
        if manifest.get(name) != value:
            raise Failure("%s is a wasm runtime of another version: %s is %s there, and %s is wanted"
                          % (folder, name, json.dumps(manifest.get(name)), json.dumps(value)))
    if manifest.get("sources_sha256") != sources:
        raise Failure("%s was made from other sources of the guest than these (runtime/wasm): an older version's, or "
                      "changed ones" % folder)
    for name in FILES:
        if not (folder / name).is_file():
            raise Failure("%s is not whole: there is no %s" % (folder, name))
    told = manifest.get("guest")
    if not isinstance(told, dict) or told.get("sha256") != sha256_file(folder / "guest.cwasm"):
        raise Failure("%s is damaged: guest.cwasm does not have the digest that manifest.json names" % folder)


def find(given, default):
    """The first of the places that was named at all; what is there must be right."""
    folder = Path(given or os.environ.get("MAYFLY_WASM_RUNTIME") or default).absolute()
    try:
        check(folder)
    except Failure as e:
        raise Failure("%s; %s" % (e, REMEDY)) from None
    return folder


def manifest_of(snapshot, code, runtime):
    cwasm = code / "guest.cwasm"
    return dict(wanted(), id="python-wasm-" + cpython.VERSION, python=cpython.VERSION,
                guest={"file": cwasm.name, "sha256": sha256_file(cwasm), "bytes": cwasm.stat().st_size},
                snapshot_sha256=sha256_file(snapshot / "snapshot.wasm"), inputs_sha256=digest(key_of(code), key_of(runtime)))


def is_there(out, manifest, texts):
    try:
        check(out)
        kept = out / "licenses"
        return read(out) == manifest and kept.is_dir() and digest(kept) == digest(texts)
    except Failure:
        return False


def assemble(out, snapshot, code, runtime, texts):
    """False: `out` is already what it would become. It is made beside its place and renamed, so nobody sees half of one."""
    manifest = manifest_of(snapshot, code, runtime)
    if is_there(out, manifest, texts):
        return False
    new, old = out.with_name(".%s.new" % out.name), out.with_name(".%s.old" % out.name)
    for p in (new, old):
        shutil.rmtree(p, ignore_errors=True)
    new.mkdir(parents=True)
    shutil.copy(code / "guest.cwasm", new)
    shutil.copytree(runtime / "include", new / "include")
    shutil.copytree(runtime / "lib", new / "lib")
    shutil.copytree(texts, new / "licenses")
    (new / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    if out.exists():
        os.rename(out, old)
    os.rename(new, out)
    shutil.rmtree(old, ignore_errors=True)
    return True
