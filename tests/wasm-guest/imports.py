#!/usr/bin/env python3
"""What the guest module asks of its host: exactly the five functions of runtime/wasm/abi.h, and no WASI.

    imports.py [MODULE]    guest.wasm or snapshot.wasm; without it the snapshot that the build's cache has"""
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import tap  # noqa: E402

SECTION_IMPORT, SECTION_MEMORY, SECTION_EXPORT = 2, 5, 7
KINDS = {0: "func", 1: "table", 2: "memory", 3: "global"}
STACK_BYTES = 8 << 20
EXPORTS = {"memory": "memory", "mayfly_reserve": "func", "mayfly_run": "func", "mayfly_files": "func"}
BUILD_EXPORTS = {"mayfly_prepare", "__stack_pointer", "_initialize"}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        part = self.data[self.at:self.at + n]
        if len(part) != n:
            raise ValueError("the module ends in the middle")
        self.at += n
        return part

    def number(self):
        result = shift = 0
        while True:
            b = self.take(1)[0]
            result |= (b & 127) << shift
            shift += 7
            if b < 128:
                return result

    def text(self):
        return self.take(self.number()).decode()


def sections(data):
    r = Reader(data)
    if r.take(8) != b"\0asm\1\0\0\0":
        raise ValueError("no WebAssembly module")
    found = {}
    while r.at < len(data):
        kind = r.take(1)[0]
        found.setdefault(kind, r.take(r.number()))
    return found


def imports(body):
    r = Reader(body)
    for _ in range(r.number()):
        module, name, kind = r.text(), r.text(), r.take(1)[0]
        if kind != 0:
            raise ValueError("%s.%s is a %s" % (module, name, KINDS.get(kind, kind)))
        r.number()
        yield "%s.%s" % (module, name)


def exports(body):
    r = Reader(body)
    for _ in range(r.number()):
        name, kind = r.text(), r.take(1)[0]
        r.number()
        yield name, KINDS.get(kind, kind)


def cached_snapshot():
    top = os.path.join(HERE, "..", "..")
    cache = os.environ.get("MAYFLY_WASM_CACHE", os.path.join(top, "deps", "wasm"))
    if not glob.glob(os.path.join(cache, "cpython-*")):
        tap.skip_all("no cross-compiled CPython in %s: make wasm" % cache)
    done = subprocess.run([sys.executable, os.path.join(top, "scripts", "setup-wasm-runtime"), "--only", "snapshot"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def main():
    t = tap.Tap()
    with open(sys.argv[1] if len(sys.argv) > 1 else cached_snapshot(), "rb") as f:
        found = sections(f.read())
    with open(os.path.join(HERE, "..", "..", "runtime", "wasm", "abi.h"), encoding="utf-8") as f:
        promised = sorted("mayfly." + name for name in re.findall(r"^ \*   (\w+)\(.*(?: -> i(?:32|64))? {2,}", f.read(), re.M)
                          if not name.startswith("mayfly_"))
    got = sorted(imports(found[SECTION_IMPORT]))
    t.ok(len(promised) == 5, "abi.h names five functions", promised)
    t.ok(got == promised, "the module imports those and nothing else", got, promised)
    there = dict(exports(found[SECTION_EXPORT]))
    t.ok({k: there.get(k) for k in EXPORTS} == EXPORTS, "it exports what abi.h says", there)
    t.ok(set(there) <= set(EXPORTS) | BUILD_EXPORTS, "and nothing besides", there)
    memory = Reader(found[SECTION_MEMORY])
    memory.number()
    memory.number()
    t.ok(memory.number() << 16 > STACK_BYTES, "its first memory holds the stack and more")
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
