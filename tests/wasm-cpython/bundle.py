"""What a test module of CPython needs of CPython's source, as a zip: itself, test.support, and what those import."""
import base64
import functools
import io
import json
import lzma
import os
import re
import tarfile
import zipfile
import zlib

TESTS = "Lib/test/"
ALWAYS = ("__init__.py", "support/")
NAMED = re.compile(r"\btest\.([\w.]*\w)")
FROM_TEST = re.compile(r"\bfrom\s+test(?:\.([\w.]+))?\s+import\s+(\([^)]*\)|[^\n]*)")
STAMP = (2025, 1, 1, 0, 0, 0)  # of every file: the same source gives the same zip


# What test_zoneinfo tests with is compressed by lzma, which the guest has not; inside.py has a zlib in its place.
ZONES = "test_zoneinfo/data/zoneinfo_data.json"


class NoSource(Exception):
    """There is no source of CPython; says what to do."""


def without_lzma(data):
    zones = json.loads(data)
    for key, lines in zones["data"].items():
        zone = lzma.decompress(base64.b85decode("".join(lines)))
        zones["data"][key] = [base64.b85encode(zlib.compress(zone)).decode()]
    return json.dumps(zones).encode()


class Source:
    """Lib/test of CPython's source: {path below Lib/test: bytes}, from its folder or its tarball."""

    def __init__(self, path):
        self.files = {}
        if os.path.isdir(path):
            self._read_folder(os.path.join(path, TESTS))
        elif os.path.isfile(path):
            self._read_tarball(path)
        if "support/__init__.py" not in self.files:
            raise NoSource("%s is neither the source of CPython nor its tarball" % path)

    def _read_folder(self, root):
        for where, folders, names in os.walk(root):
            folders[:] = [f for f in folders if f != "__pycache__"]
            for name in names:
                path = os.path.join(where, name)
                with open(path, "rb") as f:
                    self.files[os.path.relpath(path, root)] = f.read()

    def _read_tarball(self, path):
        with tarfile.open(path) as tar:
            for member in tar:
                _, _, path = member.name.partition("/")
                if path.startswith(TESTS) and member.isfile():
                    self.files[path[len(TESTS):]] = tar.extractfile(member).read()

    def below(self, path):
        """A file, or the files of a folder (written with a slash at its end)."""
        if path.endswith("/"):
            return [p for p in self.files if p.startswith(path)]
        return [path] if path in self.files else []

    def of_module(self, name):
        """The files of test.<name>: a module alone, a package with all that is in it."""
        path = name.replace(".", "/")
        return self.below(path + ".py") or self.below(path + "/")

    @functools.cache
    def named_in(self, path):
        """What below `test` this file imports or speaks of; too much is no harm. Its text is enough: packages are taken
        whole, so that no import inside of one matters."""
        text = self.files[path].decode("utf-8", "replace")
        names = set(NAMED.findall(text))
        for base, imported in FROM_TEST.findall(text):
            names.update((base + "." + name).lstrip(".") for name in re.findall(r"\w+", imported))
        return names

    def needed(self, module, extra):
        found, todo = set(), []
        for path in (*ALWAYS, *extra):
            todo += self.below(path)
        todo += self.of_module(module)
        while todo:
            path = todo.pop()
            if path in found:
                continue
            found.add(path)
            if path.endswith(".py") and not path.startswith("support/"):
                for name in self.named_in(path):
                    todo += self.of_module(name)
                    if "." in name:
                        todo += self.below(name.partition(".")[0] + "/__init__.py")
        return sorted(found)

    def content(self, path):
        return without_lzma(self.files[path]) if path == ZONES else self.files[path]

    def bundle(self, module, extra=()):
        if not self.of_module(module):
            raise NoSource("there is no test.%s in this source" % module)
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as z:
            for path in self.needed(module, extra):
                z.writestr(zipfile.ZipInfo(TESTS + path, STAMP), self.content(path), zipfile.ZIP_DEFLATED, 1)
        return data.getvalue()
