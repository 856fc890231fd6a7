"""What is not compiled here but taken: two tarballs (given, found in the cache, or Debian's source packages) and the time
zones (the wheel that the runtime image has too). Always of the pinned hash.

Debian's way leaves the system as it is: apt works on a list, a state and a cache of its own. Where Debian's archive is, is
read from this machine's own sources."""

import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from .base import ROOT, Failure, digest, output_of, say, sha256_file

SUITE = "trixie"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Source:
    def __init__(self, words, option, package, pattern, sha256):
        self.words, self.option, self.package, self.pattern, self.sha256 = words, option, package, pattern, sha256


CPYTHON = Source("CPython 3.13.5", "cpython", "python3.13", "python3.13_3.13.5.orig.tar.xz",
                 "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640")
ZLIB = Source("zlib 1.3.1", "zlib", "zlib", "zlib_1.3.dfsg+really1.3.1.orig.tar.gz",
              "60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb")


def cpython(work, given):
    return get(work, CPYTHON, given)


def zlib(work, given):
    return get(work, ZLIB, given)


def get(work, source, given):
    if given:
        verify(source, Path(given))
        return Path(given).absolute()
    kept = work.folder / "sources" / source.pattern
    with work.locked("sources"):
        if kept.is_file() and sha256_file(kept) == source.sha256:
            return kept
        kept.parent.mkdir(exist_ok=True)
        from_debian(work, source, kept)
    return kept


def verify(source, path):
    if not path.is_file():
        raise Failure("--%s: there is no file %s" % (source.option, path))
    found = sha256_file(path)
    if found != source.sha256:
        raise Failure("%s is not the source of %s that is wanted\n  SHA-256 wanted %s\n  SHA-256 found  %s"
                      % (path, source.words, source.sha256, found))


def remedy(source):
    return ("give the file %s (SHA-256 %s) with --%s or MAYFLY_%s_TARBALL; it is the 'orig' tarball of Debian's source "
            "package %s" % (source.pattern, source.sha256, source.option, source.option.upper(), source.package))


def archives():
    """Where Debian's archive may be for this machine: the addresses of its own sources, Debian's first."""
    lines = output_of("apt-get", "indextargets", "--format", "$(CREATED_BY) $(REPO_URI) $(COMPONENT)").splitlines()
    uris = []
    for line in lines:
        created_by, _, rest = line.partition(" ")
        uri, _, component = rest.rpartition(" ")
        if created_by == "Packages" and component == "main" and uri not in uris and "security" not in uri:
            uris.append(uri)
    return sorted(uris, key=lambda uri: not uri.rstrip("/").endswith("/debian"))


def from_debian(work, source, kept):
    if not shutil.which("apt-get"):
        raise Failure("the source of %s is needed, and this machine has no apt-get to fetch it; %s" % (source.words, remedy(source)))
    say("fetching the source of %s" % source.words)
    work.log("sources").unlink(missing_ok=True)
    faults = []
    for uri in archives()[:3]:
        with tempfile.TemporaryDirectory(dir=work.folder) as scratch:
            try:
                fetch(work, source, uri, Path(scratch))
                got = Path(scratch) / "got" / source.pattern
                verify(source, got)
                got.replace(kept)
                return
            except Failure as e:
                faults.append(str(e))
    raise Failure("the source of %s could not be fetched:\n%s\n%s"
                  % (source.words, "\n".join(faults) or "this machine's apt has no archive", remedy(source)))


def fetch(work, source, uri, scratch):
    for d in ("parts", "lists/partial", "cache/archives/partial", "got"):
        (scratch / d).mkdir(parents=True)
    scratch.chmod(0o755)  # apt fetches as a user of its own
    entry = ["Types: deb-src", "URIs: " + uri, "Suites: " + SUITE, "Components: main"]
    if Path(KEYRING).is_file():
        entry.append("Signed-By: " + KEYRING)
    (scratch / "parts" / "debian.sources").write_text("\n".join(entry) + "\n")
    apt = ["apt-get", "-q"]
    for name, value in (("Dir::Etc::sourcelist", "/dev/null"), ("Dir::Etc::sourceparts", scratch / "parts"),
                        ("Dir::State::lists", scratch / "lists"), ("Dir::Cache", scratch / "cache"),
                        ("APT::Sandbox::User", "root"), ("Acquire::Retries", 2)):
        apt += ["-o", "%s=%s" % (name, value)]
    # Without this word apt calls an update that reached nothing a success, and the next call fails for another reason.
    work.run("sources", apt + ["-o", "APT::Update::Error-Mode=any", "update"], scratch)
    work.run("sources", apt + ["source", "--download-only", "--tar-only", source.package], scratch / "got")


def tzdata_pin():
    """The version and the hashes in the lock file of the runtime image, as pip reads them."""
    lock = (ROOT / "runtime" / "python" / "requirements.lock").read_text()
    m = re.search(r"^tzdata==\S+( \\\n +--hash=sha256:[0-9a-f]{64})+", lock, re.MULTILINE)
    if not m:
        raise Failure("runtime/python/requirements.lock does not pin tzdata")
    return m[0]


def tzdata(work, given):
    """A folder of compiled time zones."""
    pin = tzdata_pin()
    hashes = re.findall(r"sha256:(\w+)", pin)

    def make(d):
        wheel = Path(given) if given else kept_wheel(hashes) or fetch_wheel(work, d, pin)
        if not wheel.is_file() or sha256_file(wheel) not in hashes:
            raise Failure("%s is not the wheel of tzdata that runtime/python/requirements.lock pins" % wheel)
        with zipfile.ZipFile(wheel) as z:
            z.extractall(d, [n for n in z.namelist() if n.startswith("tzdata/zoneinfo/")])

    return work.step("tzdata", digest("tzdata 1", pin), None, make) / "tzdata" / "zoneinfo"


def kept_wheel(hashes):
    """The one that scripts/setup-runtime has fetched, if it was here."""
    wheels = (ROOT / "build" / "cache").glob("wheels-*/tzdata-*.whl")
    return next((w for w in wheels if sha256_file(w) in hashes), None)


def fetch_wheel(work, d, pin):
    say("fetching the time zones")
    (d / "pin.txt").write_text(pin + "\n")
    python = sys.executable
    if not output_of(python, "-m", "pip", "--version"):
        work.run("tzdata", [python, "-m", "venv", d / "venv"], d, "no pip here (Debian: apt-get install python3-venv)")
        python = d / "venv" / "bin" / "python"
    work.run("tzdata", [python, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes",
                        "--disable-pip-version-check", "-r", d / "pin.txt", "-d", d], d,
             "Without a network: give the wheel %s with --tzdata or MAYFLY_TZDATA_WHEEL" % pin.split()[0])
    shutil.rmtree(d / "venv", ignore_errors=True)
    return next(d.glob("tzdata-*.whl"))
