"""The licences of what is in the runtime, beside it: whoever passes it on passes them on too."""

import json
import shutil
import tarfile
from pathlib import Path

from . import crates, sources, tools
from .base import WASM, Failure, digest, output_of, say

# Name in the folder → in the source's own folder.
CPYTHON = {"cpython.txt": "LICENSE", "cpython-incorporated.rst": "Doc/license.rst"}
ZLIB = {"zlib.txt": "LICENSE"}
# Of what is linked with those: the C library and the compiler's own functions. Where Debian's packages put them.
PACKAGES = dict(zip(("wasi-libc.txt", "compiler-rt.txt"), tools.WASI_PACKAGES))
DOC = Path("/usr/share/doc")
CRATES = "rust-crates.txt"
TEXTS = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
NAMES = (*CPYTHON, *ZLIB, *PACKAGES, CRATES)


def collect(work, cpython, zlib):
    """A folder of texts; cpython, zlib: the tarballs."""
    found = [DOC / package / "copyright" for package in PACKAGES.values() if (DOC / package / "copyright").is_file()]
    crate = WASM / "wasmtime" / "runtime"
    key = digest("licenses 1", Path(__file__), sources.CPYTHON.sha256, sources.ZLIB.sha256, crate / "Cargo.toml",
                 crate / "Cargo.lock", tools.rust_identity(), *found)

    def make(d):
        texts = d / "licenses"
        texts.mkdir()
        take_members(cpython, CPYTHON, texts)
        take_members(zlib, ZLIB, texts)
        for name, package in PACKAGES.items():
            if (DOC / package / "copyright") in found:
                shutil.copyfile(DOC / package / "copyright", texts / name)
            else:
                say("the licence of %s is not in %s: it will not be beside the runtime" % (package, DOC))
        (texts / CRATES).write_text(of_crates(work, d, crate))

    return work.step("licenses", key, None, make) / "licenses"


def take_members(tarball, wanted, texts):
    left = {member: name for name, member in wanted.items()}
    with tarfile.open(tarball) as t:
        for m in t:
            name = left.pop(m.name.partition("/")[2], None)
            if name:
                (texts / name).write_bytes(t.extractfile(m).read())
            if not left:
                return
    raise KeyError(left)  # cannot be: the tarball is of the pinned hash


def of_crates(work, d, crate):
    """Of Wasmtime and all that is linked with it into the program, each text once."""
    work.run("licenses", ["cargo", "fetch", "--locked"], crate, crates.ADVICE)
    host = output_of("rustc", "--print", "host-tuple")
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    told = output_of(*command, *(["--filter-platform", host] if host else []), cwd=crate)
    if not told:
        raise Failure("cargo metadata failed in %s" % crate)
    told = json.loads(told)
    packages = {p["id"]: p for p in told["packages"]}
    edges = {n["id"]: [e["pkg"] for e in n["deps"] if any(k["kind"] is None for k in e["dep_kinds"])]
             for n in told["resolve"]["nodes"]}
    linked, todo = set(), [told["resolve"]["root"]]
    while todo:
        todo += [e for e in edges[todo.pop()] if e not in linked and not linked.add(e)]
    names, texts = [], {}
    for p in sorted((packages[i] for i in linked), key=lambda p: (p["name"], p["version"])):
        names.append("%s %s: %s" % (p["name"], p["version"], p["license"] or "see below"))
        for path in sorted(Path(p["manifest_path"]).parent.iterdir()):
            if path.name.upper().startswith(TEXTS) and path.is_file():
                texts.setdefault(path.read_text(errors="replace").strip(), []).append(names[-1].partition(":")[0])
    parts = ["The WebAssembly engine that is linked into the program, and what it is made of:", "\n".join(names)]
    parts += ["%s\n%s\n\n%s" % ("=" * 78, ", ".join(users), text) for text, users in texts.items()]
    return "\n\n".join(parts) + "\n"
