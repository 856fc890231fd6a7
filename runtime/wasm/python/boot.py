"""The guest's Python side, run once while the snapshot is made: imports, puts things in their places, rehearses.

`guest` (runtime/wasm/guest/hooks.c) is in the globals. What is left for C afterwards: `fresh_…`, `finish`, `split`, and
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

import _sitebuiltins  # noqa: E402

MODULES = """
abc argparse array ast asyncio base64 bisect calendar cmath codecs collections collections.abc colorsys concurrent.futures
configparser contextlib contextvars copy csv dataclasses datetime decimal difflib email.message email.parser enum errno
fnmatch fractions functools getpass glob graphlib gzip hashlib heapq hmac html html.parser importlib.machinery
importlib.metadata importlib.resources importlib.util inspect io itertools json keyword linecache locale logging
math mimetypes multiprocessing numbers operator os pathlib pickle pkgutil platform pprint queue random re reprlib runpy secrets
select selectors shlex shutil signal socket stat statistics string stringprep struct subprocess symtable tempfile
textwrap threading time timeit tokenize traceback types typing unicodedata unittest urllib.parse uuid
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
        raw.raw.name = f"<{name}>"
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=True)
        stream.mode = "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    raw = io.open(0, "rb", closefd=False)
    raw.raw.name = "<stdin>"
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape")
    sys.stdin.mode = "r"


class Exits:
    """While libraries are imported, what they want done at the end of a program: it is done only for a program that has
    used the library, and costs the others nothing. A program that takes one back with atexit.unregister is heard."""

    def __init__(self):
        self._register, self._unregister = atexit.register, atexit.unregister
        self._exits, self._gone = [], []
        atexit.register, atexit.unregister = self._add, self._remove

    def end(self):
        """Functions for the end of a program, each called whatever became of the one before."""
        atexit.register = self._register
        return tuple(self._unless_idle(*e) for e in reversed(self._exits))

    def _add(self, fn, /, *args, **kwargs):
        self._exits.append((fn, args, kwargs))
        return fn

    def _remove(self, fn, /):
        self._unregister(fn)
        self._gone.append(fn)

    def _unless_idle(self, fn, args, kwargs):
        is_idle = lambda: False  # noqa: E731
        if fn.__module__ == "logging":
            handlers = sys.modules["logging"]._handlerList
            known = list(handlers)
            is_idle = lambda: handlers == known  # noqa: E731
        elif fn.__module__ == "multiprocessing.util":
            finalizers = sys.modules["multiprocessing.util"]._finalizer_registry
            is_idle = lambda: not finalizers  # noqa: E731
        gone = self._gone

        def step():
            if not is_idle() and fn not in gone:
                fn(*args, **kwargs)

        return step


exits = Exits()
for name in MODULES.split():
    importlib.import_module(name)
library_exits = exits.end()
add_site_builtins()
split = own("display")["split"]
own("lacks")
own("loop", __name__="asyncio.unix_events")
os.chdir("/mnt/data")
open_streams()

_threading_exits, _end_threads = threading._threading_atexits, threading._shutdown
_threading_exits_n = len(_threading_exits)


class _Config(dict):
    """Of the main process: a secret that is made when it is first asked for. It was made when the module was imported,
    which here was before the snapshot."""

    def __missing__(self, key):
        if key != "authkey":
            raise KeyError(key)
        self[key] = value = multiprocessing.process.AuthenticationString(os.urandom(32))
        return value


multiprocessing = sys.modules["multiprocessing"]
_process = multiprocessing.current_process()
_process._config = _Config({k: v for k, v in _process._config.items() if k != "authkey"})

# What must not be the same in two calls is set by C before each (fresh.c).
fresh_random = random._inst
fresh_logging = sys.modules["logging"].__dict__


def end_threads():
    if len(_threading_exits) != _threading_exits_n:
        _end_threads()


finish = (end_threads, atexit._run_exitfuncs, *library_exits)

# Run as programs are, so that what the interpreter writes but once (specialised code, caches) is written in the snapshot.
REHEARSAL_ROUNDS = 24
REHEARSALS = (b"print(1)\n", b"""
import sys, math, json, re, collections, datetime, itertools, functools, statistics, random, os, io, traceback
print('w', flush=True)
print(f'{3.14159:.2f} {12345:,} {"x":>5}', [1, 2], {'a': 1}, sep='|')
try:
    1 / 0
except ZeroDivisionError as e:
    traceback.print_exc(file=io.StringIO())
try:
    compile('x = y +', '<w>', 'exec')
except SyntaxError as e:
    ''.join(traceback.format_exception(e))
json.loads(json.dumps({'a': [1, 2.5, None, True], 'b': 'x'}))
re.findall(r'(\\w+)=(\\d+)', 'a=1 b=22')
collections.Counter('abca').most_common(1)
datetime.datetime.now().isoformat()
sorted(x * x for x in range(50))
class P:
    def __init__(self, x=1):
        self.x = x
    def f(self, x=1):
        return super().__repr__()
P().f()
[P(i).x for i in range(50)]
def g(n, *a, k=0, **kw):
    return n + k if n else 0
g(1, 2, k=3, z=4)
with open('w.txt', 'w') as f:
    f.write('w')
open('w.txt').read()
os.listdir('.')
os.remove('w.txt')
""")


def settle():
    """The last step before the snapshot."""
    import linecache
    import tempfile

    linecache.clearcache()
    tempfile._name_sequence = tempfile.tempdir = None
    for _ in range(3):
        gc.collect()
    guest["immortal"](gc.get_objects())
    gc.freeze()
