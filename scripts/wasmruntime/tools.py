"""The tools of this machine: what is missing, and which package has it."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .base import Failure, digest, environment, output_of

LLVM = 19
CLANG = "clang-%d" % LLVM
TARGET = "wasm32-wasi"
RUST = (1, 95)

# tool → Debian's package
LLVM_TOOLS = {CLANG: CLANG, "clang++-%d" % LLVM: CLANG, "wasm-ld-%d" % LLVM: "lld-%d" % LLVM,
              "llvm-ar-%d" % LLVM: "llvm-%d" % LLVM, "llvm-ranlib-%d" % LLVM: "llvm-%d" % LLVM,
              "llvm-readelf-%d" % LLVM: "llvm-%d" % LLVM}
OTHER_TOOLS = {"cc": "gcc", "make": "make", "cmake": "cmake"}
WASI_PACKAGES = ("wasi-libc", "libclang-rt-%d-dev-wasm32" % LLVM)

# Needs the C library, its headers and the compiler's own functions (a division of 128 bits).
PROBE = """
#include <stdio.h>
int main(int argc, char **argv) { return printf("%d", (int)(((__int128)argc << 70) / (argc + 1))); }
"""


def version_of(text):
    m = re.search(r"(\d+)\.(\d+)", text)
    return (int(m[1]), int(m[2])) if m else None


def links_wasi():
    """Whether a program for WASI can be linked: headers, library and compiler-rt are files, not tools."""
    with tempfile.TemporaryDirectory() as d:
        source = Path(d) / "probe.c"
        source.write_text(PROBE)
        return subprocess.run([CLANG, "--target=" + TARGET, str(source), "-o", d + "/probe.wasm"], env=environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def missing_rust():
    wanted = "Rust %d.%d or newer, with cargo" % RUST
    cargo = shutil.which("cargo")
    if not cargo:
        return "%s (Debian 12: apt-get install cargo-web; elsewhere rustup has it)" % wanted
    found = version_of(output_of(cargo, "--version"))
    if found is None:
        return "%s: %s does not run (if it is rustup's: rustup default stable)" % (wanted, cargo)
    if found < RUST:
        return "%s (%s is %d.%d; Debian 12: apt-get install cargo-web; elsewhere rustup has it)" % ((wanted, cargo) + found)
    return None


def check(only=None):
    """Everything that is missing, at once."""
    if only == "sources":
        return
    packages, others = [], []
    wanted = dict(OTHER_TOOLS) if only in ("crates", "tool") else dict(LLVM_TOOLS, **OTHER_TOOLS)
    for tool, package in wanted.items():
        if not shutil.which(tool):
            packages.append(package)
    if not packages and only not in ("crates", "tool") and not links_wasi():
        packages += WASI_PACKAGES
    if only != "cpython" and (rust := missing_rust()):
        others.append(rust)
    if not packages and not others:
        return
    lines = ["the wasm runtime cannot be built here yet; missing:"]
    lines += ["  " + o for o in others]
    if packages:
        names = " ".join(sorted(set(packages)))
        lines += ["  " + names, "Debian and Ubuntu: apt-get install --no-install-recommends " + names
                  + "\n(scripts/setup --wasm installs all of them)"]
    raise Failure("\n".join(lines))


def wasi_identity():
    """What of this machine ends in the guest: the compiler and the libraries it links."""
    libc = output_of(CLANG, "--target=" + TARGET, "-print-file-name=libc.a")
    builtins = output_of(CLANG, "--target=" + TARGET, "-print-libgcc-file-name", "-rtlib=compiler-rt")
    files = [Path(p) for p in (libc, builtins) if p and Path(p).is_file()]
    libraries = sorted(Path(libc).parent.glob("*.a")) if files else []
    return digest(output_of(CLANG, "--version"), output_of("wasm-ld-%d" % LLVM, "--version"), *libraries, *files)


def rust_identity():
    return output_of("rustc", "--version", "--verbose")


def cc_identity():
    return output_of("cc", "--version")
