"""The guest: frozen library, linked module, snapshot, machine code; and the tool that makes the last two."""

from . import crates, sources, tools
from .base import ROOT, WASM, Failure, digest, key_of
from .cpython import CC, CFLAGS, CONFIG_SITE

STACK_BYTES = 8 << 20  # MF_GUEST_STACK_BYTES
INITIAL_BYTES = 32 << 20
SHARED_HEADERS = (WASM / "abi.h", ROOT / "src" / "sandbox" / "include" / "sandbox" / "frames.h")
# Calls of these come to runtime/wasm/guest/alloc.c first, to wait.c instead, to libc-modes.c first.
WRAPPED = ("PyObject_Malloc", "PyObject_Free", "PyMem_Malloc", "PyMem_Free",
           "PyThread_acquire_lock_timed_with_retries", "_PyParkingLot_Park", "open", "openat", "mkdir", "mkdirat")
DISPLAY = ROOT / "runtime" / "python" / "display.py"
TOOL_BASE = ("buf.c", "err.c", "fd.c")


def sources_digest():
    """What the guest is made of here, whatever machine and compiler make it."""
    own = [WASM / name for name in ("guest", "python", "tool", "engine.c", "engine.h")] + [DISPLAY, *SHARED_HEADERS]
    return digest("sources 1", *own, sources.CPYTHON.sha256, sources.ZLIB.sha256, sources.tzdata_pin(), CFLAGS, CONFIG_SITE,
                  str(STACK_BYTES), str(INITIAL_BYTES), *WRAPPED)


def tool(work):
    """A folder with mayfly-wasm-tool."""
    base = ROOT / "src" / "base"
    parts = [WASM / "tool", WASM / "engine.c", WASM / "engine.h", WASM / "abi.h", base / "include"]
    parts += [base / name for name in TOOL_BASE]
    library = crates.compiler(work)
    key = digest("tool 1", key_of(library), tools.cc_identity(), *parts)
    return work.step("tool", key, None, lambda d: make_tool(work, d, library))


def make_tool(work, d, library):
    c_files = sorted((WASM / "tool").glob("*.c")) + [WASM / "engine.c"]
    c_files += [ROOT / "src" / "base" / name for name in TOOL_BASE]
    work.run("tool", ["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-I",
                      WASM.parent, "-I", WASM / "tool", "-I", ROOT / "src" / "base" / "include", "-I", library / "include", *c_files,
                      library / "lib" / "libmf_wasmtime_compiler.a", "-o", d / "mayfly-wasm-tool", "-lm", "-ldl",
                      "-lpthread"], d)


def frozen(work, cross, zones):
    """A folder with what runtime/wasm/python/freeze.py makes of library and time zones: the guest's sources include it."""
    python = WASM / "python"
    key = digest("frozen 2", key_of(cross.folder), key_of(zones.parents[1]), python, DISPLAY)

    def make_frozen(d):
        # A fixed hash seed and no settings of the user: marshalled sets and references are the same each time.
        work.run("frozen", [cross.python, "-S", "-s", "-B", python / "freeze.py", cross.folder / "stdlib", d,
                            "--zoneinfo", zones], d,
                 PYTHONHASHSEED="0")

    return work.step("frozen", key, None, make_frozen)


def module(work, cross, table):
    """A folder with guest.wasm, as linked; `table` is of frozen()."""
    c_files = sorted((WASM / "guest").glob("*.c"))
    if not c_files:
        raise Failure("runtime/wasm/guest has no C files")
    key = digest("module 3", key_of(cross.folder), key_of(table), WASM / "guest", *SHARED_HEADERS, tools.wasi_identity(),
                 CC, CFLAGS, str(STACK_BYTES), str(INITIAL_BYTES), *WRAPPED)
    return work.step("module", key, "linking the guest", lambda d: link(work, d, cross, table, c_files))


def link(work, d, cross, table, c_files):
    objects = []
    for source in c_files:
        objects.append(d / (source.stem + ".o"))
        work.run("module", CC.split() + CFLAGS.split() +
                 ["-std=gnu23", "-D_GNU_SOURCE", "-D_WASI_EMULATED_SIGNAL", "-D_WASI_EMULATED_GETPID",
                  "-D_WASI_EMULATED_PROCESS_CLOCKS", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-c23-extensions",
                  "-DNDEBUG", "-ffile-prefix-map=%s/=" % ROOT, "-ffile-prefix-map=%s/=python/" % cross.folder, "-I", cross.folder / "include", "-I", cross.folder / "include" / "internal",
                  "-I", WASM.parent, "-I", ROOT / "src" / "sandbox" / "include", "-I", table, "--embed-dir=%s" % table,
                  "-c", source, "-o", objects[-1]], d)
    libraries = sorted((cross.folder / "lib").glob("*.a"), key=lambda p: (p.name != "libpython3.13.a", p.name))
    options = ["--export=__stack_pointer", "--stack-first", "-z,stack-size=%d" % STACK_BYTES,
               "--initial-memory=%d" % INITIAL_BYTES, "--gc-sections", "-s"] + ["--wrap=" + name for name in WRAPPED]
    work.run("module", CC.split() + CFLAGS.split() + ["-mexec-model=reactor", *objects, *libraries, "-lwasi-emulated-signal",
             "-lwasi-emulated-getpid", "-lwasi-emulated-process-clocks", "-lm", *["-Wl," + o for o in options],
             "-o", d / "guest.wasm"], d)
    for o in objects:
        o.unlink()


def snapshot(work, linked):
    """A folder with snapshot.wasm: the module after mayfly_prepare."""
    by = tool(work)
    key = digest("snapshot 1", key_of(linked), key_of(by))
    return work.step("snapshot", key, "starting Python once, for the snapshot", lambda d: work.run(
        "snapshot", [by / "mayfly-wasm-tool", "snapshot", linked / "guest.wasm", d / "snapshot.wasm"], d))


def code(work, snapshot_folder, cpu):
    """A folder with guest.cwasm."""
    by = tool(work)
    key = digest("code 1", key_of(snapshot_folder), key_of(by), cpu, native_cpu() if cpu == "native" else "")
    return work.step("code", key, "compiling the snapshot to machine code", lambda d: work.run(
        "code", [by / "mayfly-wasm-tool", "compile", snapshot_folder / "snapshot.wasm", d / "guest.cwasm", cpu], d))


def native_cpu():
    with open("/proc/cpuinfo") as f:
        return "\n".join(sorted({line for line in f if line.startswith(("flags", "Features"))}))
