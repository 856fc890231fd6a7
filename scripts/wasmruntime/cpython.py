"""CPython for WebAssembly: zlib and libpython cross-compiled with clang, and the Python that does the compiling of
bytecode at build time."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from . import sources, tools
from .base import Failure, Work, digest, environment, jobs, key_of, output_of, say, sha256_file

VERSION = "3.13.5"
MINOR = "3.13"
CC = "%s --target=%s" % (tools.CLANG, tools.TARGET)
# What every object of the guest is compiled with; docs/rooms/wasm-runtime.md has what else was measured.
CFLAGS = "-O3 -g0 -mbulk-memory -mnontrapping-fptoint -msign-ext"
ZLIB_SOURCES = "adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil".split()
# Answers that configure cannot find by running something. The first part is CPython's own file.
CONFIG_SITE = """
ac_cv_have_pthread_t=yes
ac_cv_sizeof_pthread_t=4
ac_cv_sizeof_pthread_key_t=4
ac_cv_pthread_key_t_is_arithmetic_type=yes
"""
# Static libraries that CPython's own modules want beside libpython.
LIBRARIES = ("libpython3.13.a", "Modules/_decimal/libmpdec/libmpdec.a", "Modules/_hacl/libHacl_Hash_SHA2.a",
             "Modules/expat/libexpat.a")


class Cross:
    """folder: include/ (headers and pyconfig.h), lib/*.a, stdlib/ (the sources of the library). python: compiles it."""

    def __init__(self, folder, python):
        self.folder, self.python = folder, python


def cross(work, given, given_zlib, given_python):
    tarball = sources.cpython(work, given)
    z = zlib(work, sources.zlib(work, given_zlib))
    python = build_python(work, tarball, given_python)
    key = digest("cpython 1", sources.CPYTHON.sha256, key_of(z), tools.wasi_identity(), identity(python), CC, CFLAGS,
                 CONFIG_SITE)
    folder = work.step("cpython", key, "cross-compiling CPython %s (about two minutes)" % VERSION,
                       lambda d: make(work, d, tarball, z, python))
    return Cross(folder, python)


def unpack(tarball, folder):
    folder.mkdir()
    with tarfile.open(tarball) as t:
        t.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else t.extractall(folder)
    (top,) = folder.iterdir()
    for p in list(top.iterdir()):
        p.rename(folder / p.name)
    top.rmdir()


def zlib(work, tarball):
    def make_zlib(d):
        unpack(tarball, d / "src")
        for name in ZLIB_SOURCES:
            work.run("zlib", CC.split() + CFLAGS.split() + ["-DHAVE_UNISTD_H", "-c", name + ".c"], d / "src")
        work.run("zlib", ["llvm-ar-%d" % tools.LLVM, "rcs", d / "libz.a"] + [n + ".o" for n in ZLIB_SOURCES], d / "src")
        for header in ("zlib.h", "zconf.h"):
            shutil.copy(d / "src" / header, d)
        shutil.rmtree(d / "src")

    return work.step("zlib", digest(sources.ZLIB.sha256, tools.wasi_identity(), CC, CFLAGS), None, make_zlib)


def make(work, d, tarball, z, python):
    unpack(tarball, d / "src")
    own = (d / "src" / "Tools" / "wasm" / "config.site-wasm32-wasi").read_text()
    (d / "config.site").write_text(own + CONFIG_SITE)
    b = d / "b"
    b.mkdir()
    llvm = {"AR": "llvm-ar", "RANLIB": "llvm-ranlib", "READELF": "llvm-readelf"}
    env = {name: "%s-%d" % (tool, tools.LLVM) for name, tool in llvm.items()}
    env.update(CC=CC, CPP=CC + " -E", CXX="clang++-%d --target=%s" % (tools.LLVM, tools.TARGET), CFLAGS=CFLAGS,
               CONFIG_SITE=str(d / "config.site"), HOSTRUNNER="true", PKG_CONFIG_LIBDIR="/nonexistent",
               ZLIB_CFLAGS="-I%s" % z, ZLIB_LIBS="-L%s -lz" % z)
    machine = output_of("../src/config.guess", cwd=b) or "x86_64-pc-linux-gnu"
    work.run("cpython", ["../src/configure", "--host=" + tools.TARGET, "--build=" + machine,
                         "--with-build-python=%s" % python, "--disable-test-modules", "--with-pymalloc"], b, **env)
    work.run("cpython", ["make", jobs(), "libpython3.13.a"] + [p for p in LIBRARIES[1:]], b, **env)
    keep(d, b, z)


def keep(d, b, z):
    """What the guest is linked from; the rest of the build is 200 MB that nobody needs."""
    (d / "src" / "Include").rename(d / "include")
    shutil.copy(b / "pyconfig.h", d / "include")
    (d / "src" / "Lib").rename(d / "stdlib")
    shutil.rmtree(d / "stdlib" / "test")
    (d / "lib").mkdir()
    for name in LIBRARIES:
        shutil.copy(b / name, d / "lib")
    shutil.copy(z / "libz.a", d / "lib")
    shutil.copy(d / "src" / "LICENSE", d)
    for p in ("src", "b"):
        shutil.rmtree(d / p)


def is_usable(python):
    """It is run, because a shim can exist and fail."""
    return output_of(str(python), "-I", "-c", "import sys, marshal; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"
                     ) == "cpython " + MINOR


def identity(python):
    """Bytecode differs between patch versions, and may between builds."""
    code = "import sys, hashlib; print(sys.version, sys.hexversion)"
    return output_of(str(python), "-I", "-c", code)


def real_path(python):
    return Path(output_of(str(python), "-I", "-c", "import sys; print(sys.executable)") or python)


def candidates():
    yield shutil.which("python" + MINOR)
    roots = [os.environ.get("PYENV_ROOT"), str(Path.home() / ".pyenv")]
    for root in filter(None, roots):
        for p in sorted(Path(root).glob("versions/%s.*/bin/python%s" % (MINOR, MINOR)), reverse=True):
            yield str(p)
    if shutil.which("uv"):
        yield output_of("uv", "python", "find", "--no-python-downloads", MINOR)


def build_python(work, tarball, given):
    if given:
        if not is_usable(given):
            raise Failure("--build-python: %s is no working CPython %s" % (given, MINOR))
        return real_path(given)
    for p in candidates():
        if p and is_usable(p):
            return real_path(p)
    key = digest("python 1", sources.CPYTHON.sha256, tools.cc_identity())
    return work.step("python", key, "no Python %s here: building one (about three minutes)" % MINOR,
                     lambda d: make_python(work, d, tarball)) / "bin" / ("python" + MINOR)


def make_python(work, d, tarball):
    unpack(tarball, d / "src")
    work.run("python", ["./configure", "--prefix=/", "--disable-test-modules", "--without-ensurepip"], d / "src")
    work.run("python", ["make", jobs(), "python"], d / "src")
    work.run("python", ["make", "bininstall", "libinstall", "DESTDIR=%s" % d], d / "src")
    shutil.rmtree(d / "src")
