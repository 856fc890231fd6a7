"""Modules of the standard library do what they do elsewhere."""
import argparse
import base64
import configparser
import csv
import dataclasses
import decimal
import difflib
import doctest
import email.message
import email.utils
import enum
import fractions
import gettext
import graphlib
import gzip
import hashlib
import hmac
import html
import importlib.metadata
import importlib.resources
import io
import ipaddress
import itertools
import json
import locale
import logging
import mimetypes
import os
import pathlib
import pickle
import pkgutil
import platform
import plistlib
import queue
import random
import sched
import shelve
import shutil
import statistics
import string
import struct
import tarfile
import tempfile
import textwrap
import threading
import tomllib
import types
import unicodedata
import unittest
import urllib.parse
import zipfile
import zlib

data = os.urandom(1000) + bytes(100_000)
assert zlib.decompress(zlib.compress(data)) == data and gzip.decompress(gzip.compress(data)) == data
with zipfile.ZipFile("z.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a/b.bin", data)
assert zipfile.ZipFile("z.zip").read("a/b.bin") == data
os.mkdir("tree")
pathlib.Path("tree/x.txt").write_text("x")
shutil.make_archive("tree", "gztar", "tree")
shutil.unpack_archive("tree.tar.gz", "out")
assert pathlib.Path("out/x.txt").read_text() == "x" and tarfile.open("tree.tar.gz").getnames() == [".", "./x.txt"]
for name in hashlib.algorithms_guaranteed:
    h = hashlib.new(name, b"mayfly")
    assert len(h.digest(16) if name.startswith("shake") else h.digest()) >= 16
print(hashlib.sha256(b"mayfly").hexdigest()[:16], hmac.new(b"k", b"m", "sha1").hexdigest()[:16], zlib.crc32(b"mayfly"))
print(decimal.Decimal(2).sqrt(), fractions.Fraction(1, 3) + fractions.Fraction(1, 6), statistics.stdev([1, 2, 4]))
print(list(csv.DictReader(io.StringIO("a,b\n1,2\n"))), tomllib.loads("a = 1")["a"], struct.pack(">I", 7))
print(unicodedata.name("é"), "straße".upper(), f"{1234567.891:,.2f}", base64.b64encode(b"hi"), html.escape("<&>"))
print(urllib.parse.urlsplit("https://a.b/c?d=e").query, ipaddress.ip_network("10.0.0.0/30").num_addresses)
with shelve.open("shelf") as s:
    s["a"] = [1]
with shelve.open("shelf") as s:
    assert s["a"] == [1]


@dataclasses.dataclass
class Point:
    x: int
    y: int = 2


assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile("w+", dir=d) as f:
    f.write("t")
    f.flush()
    assert open(f.name).read() == "t" and d.startswith("/tmp/")
os.mkdir("pack")
pathlib.Path("pack/__init__.py").write_text("NAME = 'pack'\n")
pathlib.Path("pack/data.txt").write_text("resource")
import pack  # noqa: E402

assert importlib.resources.files(pack).joinpath("data.txt").read_text() == "resource"
assert email.utils.make_msgid().endswith("@sandbox>")
# RFC 6070 and, of SHA-256, its usual companions
for name, salt, n, size, want in (
        ("sha1", b"salt", 1, 20, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
        ("sha1", b"salt", 4096, 20, "4b007901b765489abead49d926f721d065a429c1"),
        ("sha256", b"salt", 2, 32, "ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43")):
    assert hashlib.pbkdf2_hmac(name, b"password", salt, n, size).hex() == want, (name, n)
assert hashlib.pbkdf2_hmac("sha1", b"passwordPASSWORDpassword", b"saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096, 25).hex() == (
    "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038")
assert len(hashlib.pbkdf2_hmac("sha512", b"x" * 200, b"", 1)) == 64
lock = threading.RLock()
with lock, threading.Lock():
    q = queue.Queue()
    q.put(1)
    assert q.get(timeout=1) == 1
logging.basicConfig(format="%(levelname)s %(message)s", stream=__import__("sys").stdout)
logging.warning("logged")


def double(x):
    """
    >>> double(2)
    4
    """
    return 2 * x


print(doctest.testmod())


class Case(unittest.TestCase):
    def test(self):
        with self.assertRaises(ZeroDivisionError):
            1 / 0


result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(Case))
print(result.testsRun, result.wasSuccessful(), platform.python_version(), platform.system(), locale.getlocale()[1])
assert len(list(pkgutil.iter_modules(["."]))) == 1
print(sorted(m for m in __import__("sys").modules if "mayfly" in m or m in ("boot", "lacks", "loop", "display")))
