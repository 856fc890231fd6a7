"""The guest's Python side, run once while the snapshot is made: imports, puts things in their places, rehearses.

`guest` (runtime/wasm/guest/hooks.c) is in the globals. What is left for C afterwards: `prepare`, `finish`, `split`, and
`settle`, called last of all. Whatever is imported or cached here is there in every call at no cost.
"""
import sys

sys.path[:] = ["/mnt/data"]

import atexit  # noqa: E402
import builtins  # noqa: E402
import gc  # noqa: E402
import importlib  # noqa: E402
import io  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402

import _sitebuiltins  # noqa: E402

MODULES = """
abc argparse array ast asyncio base64 bisect calendar cmath codecs collections collections.abc colorsys concurrent.futures
configparser contextlib contextvars copy csv dataclasses datetime decimal difflib email.message email.parser enum errno
fnmatch fractions functools getpass glob graphlib gzip hashlib heapq hmac html html.parser http.client importlib.machinery
importlib.metadata importlib.resources importlib.util inspect io itertools json keyword linecache locale logging
math mimetypes multiprocessing numbers operator os pathlib pickle pkgutil platform pprint queue random re reprlib runpy secrets
select selectors shlex shutil signal socket stat statistics string stringprep struct subprocess symtable tempfile
textwrap threading time timeit tokenize traceback types typing unicodedata unittest urllib.parse urllib.request uuid
warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo
encodings.ascii encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_8_sig encodings.cp1252
"""


def own(name, **given):
    """One of our own modules, which nobody can import."""
    names = {"__name__": name, "__builtins__": builtins, "guest": guest, **given}
    guest["run"](name, names)
    return names


def add_site_builtins():
    eof = "Ctrl-D (i.e. EOF)"
    builtins.quit = _sitebuiltins.Quitter("quit", eof)
    builtins.exit = _sitebuiltins.Quitter("exit", eof)
    builtins.help = _sitebuiltins._Helper()
    builtins.copyright = _sitebuiltins._Printer("copyright", sys.copyright)
    builtins.credits = _sitebuiltins._Printer("credits", "See www.python.org for more information.")
    builtins.license = _sitebuiltins._Printer("license", "See https://www.python.org/psf/license/")


def open_streams():
    """Text as UTF-8, a line at a time, so that output is seen as it is printed and none is lost when a limit ends the
    program."""
    for name, fd in (("stdout", 1), ("stderr", 2)):
        raw = io.open(fd, "wb", buffering=8192, closefd=False)
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=True)
        stream.mode = "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(
        io.open(0, "rb", closefd=False), encoding="utf-8", errors="surrogateescape")
    sys.stdin.mode = "r"


for name in MODULES.split():
    importlib.import_module(name)
add_site_builtins()
split = own("display")["split"]
own("lacks")
own("loop", __name__="asyncio.unix_events")
os.chdir("/mnt/data")
finish = (threading._shutdown, atexit._run_exitfuncs)

_seed, _now, _logging = random.seed, time.time_ns, sys.modules["logging"]


def prepare():
    """Before each program: what must not be the same in two calls."""
    _seed()
    _logging._startTime = _now()


def settle():
    sys.modules.pop("__main__", None)
    open_streams()
    gc.collect()
    gc.collect()
    guest["immortal"](gc.get_objects())
    gc.freeze()
