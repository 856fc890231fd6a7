"""The two tarballs: given, found in the cache, or as Debian's source packages. Always of the pinned hash.

Debian's way leaves the system as it is: apt works on a list, a state and a cache of its own. Where Debian's archive is, is
read from this machine's own sources."""

import shutil
import tempfile
from pathlib import Path

from .base import Failure, output_of, say, sha256_file

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
    work.run("sources", apt + ["update"], scratch)
    work.run("sources", apt + ["source", "--download-only", "--tar-only", source.package], scratch / "got")
