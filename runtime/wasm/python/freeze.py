#!/usr/bin/env python3
"""Makes what the guest module carries: the standard library as code objects, our own Python, and the time zones.

    freeze.py STDLIB OUT [--zoneinfo DIR]

Run by the interpreter that the library belongs to (same minor version: bytecode). Writes into OUT, for
runtime/wasm/guest to embed:

    frozen.bin       code objects, one after another
    frozen_table.h   rows of struct _frozen: importable modules
    own_table.h      the same for our own modules, which no program can import; boot is the first
    files.bin        contents of files
    files_table.h    rows {path, offset, bytes}

The same inputs give the same bytes: the hash seed is fixed, and nothing of the place or the time is written.
"""
import argparse
import marshal
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# What cannot work, since it needs a C library, a screen or a terminal that the guest has not, or is of no use in it.
SKIPPED_FOLDERS = {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "venv", "__pycache__",
                   "site-packages", "curses", "sqlite3", "ctypes", "__phello__", "msilib"}
SKIPPED_MODULES = {"antigravity", "turtle", "bz2", "lzma", "ssl", "pty", "tty", "__hello__", "_aix_support",
                   "_android_support", "_apple_support", "_ios_support", "_osx_support", "nturl2path",
                   "dbm.gnu", "dbm.ndbm", "dbm.sqlite3", "asyncio.windows_events", "asyncio.windows_utils",
                   "multiprocessing.popen_spawn_win32", "encodings.mbcs", "encodings.oem"}
SYSCONFIG = ("_sysconfigdata__wasi_wasm32-wasi",
             "build_time_vars = {'TZPATH': '/usr/share/zoneinfo', 'SOABI': 'cpython-313-wasm32-wasi', 'Py_GIL_DISABLED': 0, "
             "'EXT_SUFFIX': '.so', 'WITH_DOC_STRINGS': 1, 'prefix': '/usr', 'exec_prefix': '/usr', 'VERSION': '3.13'}\n")
LIBRARY = "/usr/lib/python3.13/"
IMPORT_SYSTEM = {"importlib._bootstrap", "importlib._bootstrap_external"}
OWN = ("boot", "display", "lacks", "loop")
# Our frames in the traceback of an import are left out as the import system's own are; the loop stands in for asyncio's.
OWN_FILES = {"lacks": "<frozen importlib._bootstrap_external>", "loop": LIBRARY + "asyncio/unix_events.py"}
ZONES_LEFT_OUT = {"posix", "right", "localtime", "posixrules", "Factory", "leapseconds", "leap-seconds.list", "leapseconds.awk",
                  "SECURITY", "+VERSION", "iso3166.tab", "zone.tab", "tzdata.zi"}


def file_of(module, path):
    """What code is said to come from: the __file__ of its module (start.c: stdlib_dir), since inspect, warnings and
    importlib.resources compare the two. The import system is known by other names, and left out of tracebacks."""
    return "<frozen %s>" % module if module in IMPORT_SYSTEM else LIBRARY + path.replace(os.sep, "/")


def library(root):
    """(name, source, file, is a package) of each module, in order of their paths."""
    for where, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and f.isidentifier())
        package = os.path.relpath(where, root).replace(os.sep, ".")
        package = "" if package == "." else package
        for name in sorted(files):
            base = name[:-3]
            if not name.endswith(".py") or not base.isidentifier():
                continue
            module = ".".join(p for p in (package, "" if base == "__init__" else base) if p)
            if module and module not in SKIPPED_MODULES and not module.startswith("_sysconfigdata"):
                with open(os.path.join(where, name), "rb") as f:
                    yield module, f.read(), file_of(module, os.path.relpath(os.path.join(where, name), root)), base == "__init__"
    yield SYSCONFIG[0], SYSCONFIG[1].encode(), "<frozen %s>" % SYSCONFIG[0], False


def own():
    for name in OWN:
        folder = os.path.join(HERE, "..", "..", "python") if name == "display" else HERE
        with open(os.path.join(folder, name + ".py"), "rb") as f:
            yield name, f.read(), OWN_FILES.get(name, "<frozen %s>" % name), False


class Blob:
    """Bytes one after another; equal ones are kept once."""

    def __init__(self):
        self.data, self.seen = bytearray(), {}

    def add(self, data):
        if data not in self.seen:
            self.data += bytes(-len(self.data) % 16)
            self.seen[data] = len(self.data)
            self.data += data
        return self.seen[data]


def frozen_rows(blob, modules):
    for name, source, file, is_package in modules:
        code = marshal.dumps(compile(source, file, "exec", dont_inherit=True, optimize=0))
        yield '{"%s", blob + %d, %d, %d},\n' % (name, blob.add(code), len(code), is_package)


def zone_rows(blob, root):
    for where, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if where != root or f not in ZONES_LEFT_OUT)
        for name in sorted(files):
            if where == root and name in ZONES_LEFT_OUT:
                continue
            with open(os.path.join(where, name), "rb") as f:
                data = f.read()
            if not data.startswith(b"TZif") and name not in ("zone1970.tab", "zonenow.tab"):
                continue  # tzdata's Python files
            path = "/usr/share/zoneinfo/" + os.path.relpath(os.path.join(where, name), root).replace(os.sep, "/")
            yield '{"%s", %d, %d},\n' % (path, blob.add(data), len(data))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stdlib", help="Lib of CPython's source")
    parser.add_argument("out")
    parser.add_argument("--zoneinfo", default="/usr/share/zoneinfo", help="a folder of compiled time zones (default: %(default)s)")
    args = parser.parse_args()
    code, files = Blob(), Blob()
    tables = {"frozen_table.h": list(frozen_rows(code, library(args.stdlib))),
              "own_table.h": list(frozen_rows(code, own())), "files_table.h": list(zone_rows(files, args.zoneinfo))}
    for needed, what in (("frozen_table.h", args.stdlib), ("files_table.h", args.zoneinfo)):
        if len(tables[needed]) < 100:
            sys.exit("freeze.py: %s has too little in it: %d files of use" % (what, len(tables[needed])))
    os.makedirs(args.out, exist_ok=True)
    for name, rows in tables.items():
        with open(os.path.join(args.out, name), "w") as f:
            f.writelines(rows)
    for name, blob in (("frozen.bin", code), ("files.bin", files)):
        with open(os.path.join(args.out, name), "wb") as f:
            f.write(blob.data)
    print("%d modules, %d zones, %d + %d bytes" % (len(tables["frozen_table.h"]), len(tables["files_table.h"]),
                                                   len(code.data), len(files.data)))


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-S", "-B", *sys.argv])
    main()
