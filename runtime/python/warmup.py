"""What a zygote imports and rehearses before it forks: the modules and the first calls that most programs pay for."""
import io
import sys

STDLIB = (
    "argparse ast asyncio base64 bisect calendar collections collections.abc concurrent.futures contextlib copy csv "
    "dataclasses datetime decimal difflib encodings.idna enum fractions functools gc glob hashlib heapq html inspect io "
    "itertools json linecache locale logging math multiprocessing numbers operator os pathlib pickle platform pprint "
    "queue random re secrets shutil signal sqlite3 statistics string struct subprocess tempfile textwrap threading time "
    "timeit tokenize traceback types typing unicodedata urllib.parse uuid warnings weakref xml.etree.ElementTree zipfile "
    "zoneinfo"
).split()

DATA = (
    "numpy numpy.linalg numpy.random pandas matplotlib matplotlib.pyplot matplotlib.backends.backend_agg openpyxl "
    "dateutil.parser pandas.io.formats.string pandas.io.excel pandas.plotting"
).split()


def import_stdlib():
    for name in STDLIB:
        __import__(name)


def import_data():
    """Imports the data stack; returns numpy's legacy seed function."""
    for name in DATA:
        __import__(name)
    return sys.modules["numpy"].random.seed


REHEARSE_STDLIB = """
print('w', flush=True)
print(f'{3.14159:.2f} {12345:,} {"x":>5}', [1, 2], {'a': 1}, sep='|')
try:
    1 / 0
except ZeroDivisionError:
    import traceback, io
    traceback.print_exc(file=io.StringIO())
try:
    compile('x = y +', '<w>', 'exec')
except SyntaxError:
    pass
import json, re, datetime, collections, csv, io, math, random, statistics
json.loads(json.dumps({'a': [1, 2.5, None, 'x']}))
re.findall(r'(\\w+)=(\\d+)', 'a=1 b=22')
datetime.datetime(2026, 1, 2).isoformat()
collections.Counter('hello').most_common(2)
list(csv.DictReader(io.StringIO('a,b\\n1,2\\n')))
statistics.mean([1, 2, 3])
sum(i * i for i in range(100))
class A:
    def f(self, x=1):
        return [x for x in range(x)]
A().f(3)
"""

REHEARSE_DATA = """
import io
import numpy as np, pandas as pd
rng = np.random.default_rng(0)
df = pd.DataFrame({'k': rng.integers(0, 7, 300), 'v': rng.random(300), 's': ['a', 'b', 'c'] * 100})
str(df.groupby('k').v.agg(['mean', 'sum', 'count']).head(3))
str(df.describe())
str(df.merge(df.head(3), on='k').sort_values('v_x').head(2))
str(df.groupby('s').v.mean())
pd.read_csv(io.StringIO('a,b,d\\n1,x,2026-01-01\\n2,y,2026-01-02\\n'), parse_dates=['d'])
df.head(5).to_csv(io.StringIO())
str(df.pivot_table(index='s', columns='k', values='v', aggfunc='mean'))
np.ones((32, 32)) @ np.ones((32, 32))
"""

REHEARSE_ONCE = """
import io
import matplotlib.pyplot as plt, openpyxl
fig, ax = plt.subplots()
ax.plot([1, 2, 3], label='w'); ax.set_title('w'); ax.legend()
fig.savefig(io.BytesIO(), format='png')
plt.close('all')
wb = openpyxl.Workbook(); wb.active.append([1, 'a']); b = io.BytesIO(); wb.save(b)
import pandas as pd
pd.read_excel(b)
"""


def rehearse(data, fake_fork, rounds=20):
    """Runs typical code as a guest would, and the fork hooks, until the process's memory has settled."""
    programs = [compile(REHEARSE_STDLIB, "<warmup>", "exec")]
    if data:
        programs.append(compile(REHEARSE_DATA, "<warmup>", "exec"))
        run(compile(REHEARSE_ONCE, "<warmup>", "exec"))
    for _ in range(rounds):
        for program in programs:
            run(program)
        fake_fork()


def run(program):
    saved = sys.stdout
    sys.stdout = io.StringIO()
    try:
        exec(program, {"__builtins__": __builtins__, "__name__": "__main__"})
    finally:
        sys.stdout = saved


def forget():
    """Drops what must not be inherited: open font files (a guest's descriptors are closed) and caches of names."""
    manager = sys.modules.get("matplotlib.font_manager")
    if manager is not None:
        manager._get_font.cache_clear()
    import linecache
    import re

    linecache.clearcache()
    re.purge()
    sys.last_traceback = sys.last_value = sys.last_type = None
    del sys.last_traceback, sys.last_value, sys.last_type
