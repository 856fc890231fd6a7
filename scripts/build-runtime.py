"""Builds the runtime image from the Python that runs this file; started by setup-runtime.

The image is self-contained: interpreter, standard library, pinned wheels, every shared library they need, time zones,
fonts and the handful of files in /etc that programs ask for. No pip, no shell, no compiler. Everything is made in a
folder beside the place and renamed at the end, so that a half-made image is never seen.
"""

import argparse
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
LOCK = SCRIPTS.parent / "runtime" / "python" / "requirements.lock"
FONTS_PY = SCRIPTS / "runtime-fonts.py"
MATPLOTLIBRC = SCRIPTS.parent / "runtime" / "python" / "matplotlibrc"
VERSION = "%d.%d" % sys.version_info[:2]
RUNTIME_ID = "python-data-analysis-v1" if VERSION == "3.12" else "python-%s-data-dev" % VERSION
# Fonts with Chinese, Japanese and Korean glyphs: (family, where distributions put it). The first has Latin letters too,
# the second knows rarer characters. One of them must be there.
FONTS = [
    ("WenQuanYi Micro Hei", ("/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
                             "/usr/share/fonts/wqy-microhei/wqy-microhei.ttc",
                             "/usr/share/fonts/wqy-microhei-fonts/wqy-microhei.ttc")),
    ("Droid Sans Fallback", ("/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
                             "/usr/share/fonts/google-droid-sans-fonts/DroidSansFallbackFull.ttf",
                             "/usr/share/fonts/droid/DroidSansFallbackFull.ttf")),
]
# In a build folder meson keeps these folders where the runtime comes: that of runtime/NAME in the source is runtime/NAME.
MESONS = ("zygote", "wasm")
FONTS_INSIDE = "/usr/share/fonts/truetype"

# Parts of the standard library that make no sense without a screen, a compiler, pip or a telephone.
STDLIB_DROP = {"test", "idlelib", "tkinter", "turtledemo", "turtle.py", "ensurepip", "lib2to3", "site-packages",
               "dist-packages", "_ios_support.py", "sitecustomize.py", "usercustomize.py", "EXTERNALLY-MANAGED", "__pycache__"}
# Extension modules that only CPython's own tests use, and Tk.
DYNLOAD_DROP = re.compile(r"^(_test|_xxtest|_ctypes_test|xxlimited|xxsubtype|_tkinter)")
# Compiling goes in this many slices, each in a fresh process over a fixed list: the bytecode then does not depend on
# how many cores the builder has.
SLICES = 8


class Failure(Exception):
    pass


def say(text):
    print("setup-runtime: " + text, file=sys.stderr, flush=True)


def sha256_file(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def run(argv, what, **kwargs):
    done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", **kwargs)
    if done.returncode != 0:
        tail = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-15:])
        raise Failure("%s failed (exit %d):\n%s" % (what, done.returncode, tail))
    return done.stdout


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def copy_file(src, dst):
    dst.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(src, dst)
    dst.chmod(0o755 if os.stat(src).st_mode & 0o111 else 0o644)


# ---- the interpreter ----

def base_executable():
    """The binary itself: not a shim, a link or a virtual environment's."""
    return Path(os.path.realpath("/proc/self/exe"))


def base_folders():
    """The standard library and its extension modules, where a virtual environment's interpreter has them too."""
    stdlib = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}))
    dynload = stdlib / "lib-dynload"
    if not dynload.is_dir():
        dynload = Path(sysconfig.get_config_var("DESTSHARED") or dynload)
    return stdlib, dynload


def copy_python(root):
    python = root / "opt" / "python"
    name = "python" + VERSION
    exe = python / "bin" / name
    copy_file(base_executable(), exe)
    exe.chmod(0o755)
    for link in ("python3", "python"):
        (python / "bin" / link).symlink_to(name)
    (root / "usr" / "bin").mkdir(parents=True, exist_ok=True)
    (root / "usr" / "bin" / "python3").symlink_to("../../opt/python/bin/" + name)

    stdlib, dynload = base_folders()
    target = python / "lib" / name
    copy_tree(stdlib, target, is_dropped_from_stdlib)
    if not (target / "lib-dynload").is_dir():
        copy_tree(dynload, target / "lib-dynload", lambda rel: bool(DYNLOAD_DROP.match(rel.name)))
    # What sysconfig tells a program should be the image's places, not the builder's.
    for data in target.glob("_sysconfigdata*.py"):
        text = data.read_text(encoding="utf-8")
        if sys.base_prefix != "/usr":
            data.write_text(text.replace(sys.base_prefix, "/opt/python"), encoding="utf-8")
    site = target / "site-packages"
    site.mkdir()
    if hasattr(sys, "_base_executable") and "dist-packages" in " ".join(site_dirs()):
        (target / "dist-packages").symlink_to("site-packages")  # Debian's site.py looks there and only there
    return target, site


def site_dirs():
    import site
    return site.getsitepackages([sys.base_prefix])


def is_dropped_from_stdlib(rel):
    if len(rel.parts) == 1 and (rel.name in STDLIB_DROP or rel.name.startswith("config-")):
        return True
    if rel.name in ("__pycache__", "idle_test") or rel.suffix in (".pyc", ".pyo", ".a", ".exe"):
        return True
    if rel.parts[0] in ("unittest", "ctypes", "distutils", "sqlite3") and rel.name in ("test", "tests"):
        return True
    return rel.parts[0] == "lib-dynload" and bool(DYNLOAD_DROP.match(rel.name))


def copy_tree(src, dst, is_dropped):
    """Copies files and links that stay inside `src`; a link that leaves it is the builder's own business."""
    top = os.path.realpath(src)
    for folder, dirs, files in os.walk(src):
        rel = Path(folder).relative_to(src)
        dirs[:] = sorted(d for d in dirs if not is_dropped(rel / d) and not os.path.islink(os.path.join(folder, d)))
        (dst / rel).mkdir(parents=True, exist_ok=True)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if is_dropped(rel / name):
                continue
            if not os.path.realpath(path).startswith(top + os.sep) or not os.path.isfile(path):
                continue
            copy_file(path, dst / rel / name)


# ---- wheels ----

def pip_command(scratch):
    own = [sys.executable, "-I", "-m", "pip"]
    if subprocess.run(own + ["--version"], capture_output=True).returncode == 0:
        return own
    made = subprocess.run([sys.executable, "-I", "-m", "venv", str(scratch / "venv")], capture_output=True, text=True)
    if made.returncode == 0:
        return [str(scratch / "venv" / "bin" / "python"), "-I", "-m", "pip"]
    raise Failure("%s has neither pip nor venv; install them (Debian: apt-get install python3-pip python3-venv)"
                  % sys.executable)


def install_wheels(site, scratch, cache):
    pip = pip_command(scratch)
    env = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_ROOT_USER_ACTION="ignore")
    env.pop("PIP_USER", None)
    env.pop("PIP_TARGET", None)
    env.pop("PIP_REQUIRE_VIRTUALENV", None)
    pinned = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(LOCK)]
    target = scratch / "site"

    def install():
        run(pip + ["install", "--no-index", "--find-links", str(cache), "--no-compile", "--target", str(target)] + pinned,
            "pip install", env=env, cwd=scratch)

    cache.mkdir(parents=True, exist_ok=True)
    try:
        if not any(cache.iterdir()):
            raise Failure("")
        install()
    except Failure:
        say("fetching the pinned wheels")
        run(pip + ["download", "--quiet", "-d", str(cache)] + pinned, "pip download", env=env, cwd=scratch)
        shutil.rmtree(target, ignore_errors=True)
        install()
    shutil.rmtree(target / "bin", ignore_errors=True)  # command-line scripts: their first line names the builder's Python

    used_tests = find_used_tests(target)
    copy_tree(target, site, lambda rel: is_dropped_from_site(rel, used_tests))
    packages = {}
    for info in sorted(site.glob("*.dist-info")):
        record = info / "RECORD"
        if record.exists():  # only what is here; the scripts' hashes would differ from builder to builder
            kept = [line for line in record.read_text().splitlines()
                    if (site / line.split(",")[0]).is_file() and not line.split(",")[0].startswith("..")]
            record.write_text("\n".join(sorted(kept)) + "\n")
        meta = (info / "METADATA").read_text(encoding="utf-8")
        name = re.search(r"^Name: (\S+)", meta, re.M).group(1)
        packages[name.lower().replace("_", "-")] = re.search(r"^Version: (\S+)", meta, re.M).group(1)
    return packages


def find_used_tests(target):
    """Folders named tests that a package's own working code imports (numpy.testing does such a thing)."""
    used = set()
    pattern = re.compile(r"(?:from|import)\s+([a-zA-Z_][\w.]*\.tests)\b")
    for path in target.rglob("*.py"):
        parts = path.relative_to(target).parts
        if "tests" in parts or path.name == "conftest.py":
            continue
        for match in pattern.finditer(path.read_text(encoding="utf-8", errors="replace")):
            used.add(match.group(1).replace(".", "/"))
    return used


def is_dropped_from_site(rel, used_tests):
    if rel.name == "__pycache__" or rel.suffix in (".pyc", ".a", ".pyi"):
        return True
    return rel.name == "tests" and str(rel) not in used_tests and rel.parts[0] in (
        "numpy", "pandas", "matplotlib", "mpl_toolkits", "contourpy", "kiwisolver")


# ---- shared libraries ----

def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def elf_files(top):
    return sorted(str(p) for p in top.rglob("*") if p.is_file() and not p.is_symlink() and is_elf(p))


def ldd(paths):
    """Yields (name, path or None) of everything that the files need. ldd follows the whole tree."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    for at in range(0, len(paths), 50):
        done = subprocess.run(["ldd"] + paths[at:at + 50], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=dict(env, LC_ALL="C"))
        for line in done.stdout.splitlines():
            if not line.startswith("\t") or "statically linked" in line or "not a dynamic" in line:
                continue
            match = re.match(r"\t(\S+) => (\S+) \(0x", line)
            if match:
                yield match.group(1), match.group(2)
            elif "=> not found" in line:
                yield line.split()[0], None
            elif re.match(r"\t/\S+ \(0x", line):
                yield line.split()[0], line.split()[0]


def copy_libraries(root, site, stdlib):
    triplet = sysconfig.get_config_var("MULTIARCH") or platform.machine() + "-linux-gnu"
    libdir = root / "usr" / "lib" / triplet
    libdir.mkdir(parents=True)
    # One folder under all the names that a loader may have built in: /lib/TRIPLET and /usr/lib/TRIPLET on Debian,
    # /lib64 and /usr/lib64 elsewhere and for the x86-64 program interpreter.
    (root / "usr" / "lib64").symlink_to("lib/" + triplet)
    (root / "lib").symlink_to("usr/lib")
    (root / "lib64").symlink_to("usr/lib64")

    # The interpreter's own modules are looked at where they come from: their run paths point there.
    _, base_dynload = base_folders()
    base = [str(base_executable())]
    base += [str(base_dynload / p.name) for p in sorted((stdlib / "lib-dynload").iterdir()) if is_elf_file(p)]
    inside = os.path.realpath(site) + os.sep
    sources, missing, interpreter = {}, set(), None
    for name, path in list(ldd(base)) + list(ldd(elf_files(site))):
        if path is None:
            path = find_beside_python(name)
            if path is None:
                missing.add(name)
                continue
        real = os.path.realpath(path)
        if real.startswith(inside):
            continue
        if name.startswith("/"):
            interpreter = name
            name = os.path.basename(name)
        sources.setdefault(name, real)
    # A library of the wheels can look missing to ldd and still be loaded by the package itself beforehand.
    bundled = {p.name for p in site.rglob("*.so*")}
    if missing - bundled:
        raise Failure("shared libraries not found: " + ", ".join(sorted(missing - bundled)))
    libc = next((p for n, p in sources.items() if n.startswith("libc.so")), None)
    if libc is None or interpreter is None:
        raise Failure("%s is not a dynamic glibc program; the wheels need one" % base[0])
    for extra in ("libgcc_s.so.1", "libnss_files.so.2"):  # opened by name at run time: thread cancellation, old glibc's files
        for folder in (os.path.dirname(libc), "/usr/lib/" + triplet, "/usr/lib64", "/lib/" + triplet):
            path = os.path.join(folder, extra)
            if os.path.exists(path):
                sources.setdefault(extra, os.path.realpath(path))
                break
    for name, real in sorted(sources.items()):
        shutil.copyfile(real, libdir / name)
        (libdir / name).chmod(0o755)
    place = root / interpreter.lstrip("/")
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to("/usr/lib/%s/%s" % (triplet, os.path.basename(interpreter)))
    return sorted(sources)


def is_elf_file(path):
    return path.is_file() and is_elf(path)


def find_beside_python(name):
    for folder in (sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib")):
        if folder and os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


# ---- everything else in the image ----

def make_system_files(root, site):
    write(root / "etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n"
          "sandbox:x:1000:1000:sandbox:/mnt/data:/usr/sbin/nologin\n"
          "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n")
    write(root / "etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n")
    write(root / "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    write(root / "etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
    # The time zones come from the pinned tzdata wheel: the same on every builder.
    copy_tree(site / "tzdata" / "zoneinfo", root / "usr/share/zoneinfo", lambda rel: rel.suffix == ".py")
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")
    write(root / "etc/timezone", "Etc/UTC\n")
    for name in ("C.utf8", "C.UTF-8"):  # LANG=C.UTF-8 is a file in Debian's glibc
        if os.path.isdir("/usr/lib/locale/" + name):
            copy_tree(Path("/usr/lib/locale") / name, root / "usr/lib/locale/C.utf8", lambda rel: False)
            break
    for name in ("null", "zero", "urandom", "random"):
        write(root / "dev" / name, "")  # the sandbox mounts the devices over these
    for name, to in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
                     ("stderr", "/proc/self/fd/2"), ("shm", "/mnt/shm")):
        (root / "dev" / name).symlink_to(to)
    (root / "tmp").symlink_to("/mnt/tmp")
    (root / "bin").symlink_to("usr/bin")
    for name in ("proc", "mnt", "opt/mayfly"):
        (root / name).mkdir(parents=True)


def find_fonts(given):
    """Returns [(family, path)]."""
    if given:
        if not os.path.isfile(given):
            raise Failure("no font at %s" % given)
        return [("", given)]
    found = [(family, next(filter(os.path.isfile, places), None)) for family, places in FONTS]
    found = [(family, path) for family, path in found if path]
    if not found:
        raise Failure("no font with Chinese glyphs found (Debian: apt-get install fonts-wqy-microhei fonts-droid-fallback), "
                      "or name one with --font")
    return found


def make_fonts(root, site, fonts, scratch):
    made = []
    for _, path in fonts:
        inside = FONTS_INSIDE + "/" + os.path.basename(path)
        copy_file(path, root / inside.lstrip("/"))
        (root / inside.lstrip("/")).chmod(0o644)
        made.append({"path": inside, "sha256": sha256_file(path)})
    home = scratch / "home"
    home.mkdir()
    (root / "opt/mpl").mkdir(parents=True)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "MPLCONFIGDIR": str(home), "MPLBACKEND": "Agg", "LANG": "C.UTF-8"}
    run([sys.executable, "-B", "-s", "-S", FONTS_PY, site, root, MATPLOTLIBRC, root / "opt/mpl"] +
        [f["path"] for f in made], "the font cache", env=env, cwd=scratch)
    return made


COMPILE = """
import py_compile, sys
root = sys.argv[1]
for line in sys.stdin:
    path = line.rstrip("\\n")
    try:
        py_compile.compile(root + path, dfile=path, doraise=True, quiet=2,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    except py_compile.PyCompileError:
        pass
"""


def compile_all(root):
    """Bytecode that is valid whatever the files' times are, and names the files as the guest sees them."""
    files = sorted(str(p)[len(str(root)):] for p in (root / "opt/python").rglob("*.py") if not p.is_symlink())
    env = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}
    waiting = [files[i::SLICES] for i in range(SLICES)]
    running = []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            proc = subprocess.Popen([sys.executable, "-s", "-S", "-c", COMPILE, str(root)], stdin=subprocess.PIPE,
                                    text=True, env=env)
            proc.stdin.write("".join(f + "\n" for f in waiting.pop(0)))
            proc.stdin.close()
            running.append(proc)
        if running.pop(0).wait() != 0:
            raise Failure("compiling the standard library failed")


def tidy_modes(root):
    for folder, dirs, files in os.walk(root):
        os.chmod(folder, 0o755)
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o755 if os.stat(path).st_mode & 0o111 else 0o644)


def digest_of(root):
    lines = []
    for folder, dirs, files in os.walk(root):
        for name in dirs + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            if stat.S_ISLNK(info.st_mode):
                what = "link " + os.readlink(path)
            elif stat.S_ISDIR(info.st_mode):
                what = "dir"
            else:
                what = "file " + sha256_file(path)
            lines.append("%s %o %s\n" % (os.path.relpath(path, root), stat.S_IMODE(info.st_mode), what))
    return "sha256:" + hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


# ---- putting it together ----

def inputs_of(fonts):
    """What the image is made from. The same inputs need no second build."""
    exe = base_executable()
    parts = [RUNTIME_ID, sys.version, str(exe), str(exe.stat().st_size), str(int(exe.stat().st_mtime)), sys.base_prefix]
    parts += [sha256_file(p) for p in [Path(__file__), FONTS_PY, MATPLOTLIBRC, LOCK] + [path for _, path in fonts]]
    return "sha256:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()


def is_up_to_date(out, inputs):
    try:
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        return manifest["inputs"] == inputs and (out / "rootfs" / manifest["python"].lstrip("/")).is_file()
    except (OSError, ValueError, KeyError):
        return False


def build(out, fonts, inputs, cache, scratch):
    new = scratch / "runtime"
    root = new / "rootfs"
    root.mkdir(parents=True)
    say("building %s from %s" % (RUNTIME_ID, base_executable()))
    stdlib, site = copy_python(root)
    packages = install_wheels(site, scratch, cache)
    libraries = copy_libraries(root, site, stdlib)
    make_system_files(root, site)
    font_info = make_fonts(root, site, fonts, scratch)
    compile_all(root)
    tidy_modes(root)
    manifest = {
        "id": RUNTIME_ID,
        "digest": digest_of(root),
        "pythonVersion": platform.python_version(),
        "python": "/opt/python/bin/python" + VERSION,
        "hostPython": str(base_executable()),
        "sitePackages": "/opt/python/lib/python%s/site-packages" % VERSION,
        "machine": platform.machine(),
        "packages": packages,
        "libraries": libraries,
        "fonts": font_info,
        "inputs": inputs,
    }
    write(new / "manifest.json", json.dumps(manifest, indent=2) + "\n")
    new.chmod(0o755)
    put_in_place(new, out, scratch / "old")
    return manifest


def may_be_replaced(out):
    """Nothing is there, or a runtime, or no more than meson's own folders and links (make wasm has some to a runtime)."""
    return not out.exists() or (out / "manifest.json").is_file() or {p.name for p in out.iterdir() if not p.is_symlink()} <= set(MESONS)


def put_in_place(new, out, old):
    """`new` becomes `out`, at once; what meson keeps there stays, and what was there before is `old`."""
    if out.exists():
        out.rename(old)
    try:
        for name in MESONS:
            if (old / name).is_dir():
                (old / name).rename(new / name)
        new.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise


def main():
    parser = argparse.ArgumentParser(prog="build-runtime")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--font")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    os.umask(0o022)
    out = Path(os.path.abspath(args.out))
    if not may_be_replaced(out):
        raise Failure("%s exists and is not a runtime" % out)
    out.parent.mkdir(parents=True, exist_ok=True)
    fonts = find_fonts(args.font)
    with open(out.parent / (".%s.lock" % out.name), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        inputs = inputs_of(fonts)
        if not args.force and is_up_to_date(out, inputs):
            if not args.quiet:
                say("%s is up to date (%s)" % (os.path.relpath(out), RUNTIME_ID))
            return
        for left in out.parent.glob(".%s.new-*" % out.name):  # of a build that was killed
            shutil.rmtree(left, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(prefix=".%s.new-" % out.name, dir=out.parent))
        try:
            manifest = build(out, fonts, inputs, out.parent / "cache" / ("wheels-" + VERSION), scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    say("made %s: %s, %s" % (os.path.relpath(out), manifest["id"], manifest["digest"][:19]))


if __name__ == "__main__":
    try:
        main()
    except Failure as e:
        say(str(e))
        sys.exit(1)
    except OSError as e:
        say("%s: %s" % (e.filename or "error", e.strerror or e))
        sys.exit(1)
