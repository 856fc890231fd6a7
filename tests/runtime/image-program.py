"""Runs inside the image, under nothing but a changed root. Prints one TAP line for each thing that must work."""

import hashlib
import os
import sys
import warnings

n = 0


def check(name, fn):
    global n
    n += 1
    try:
        fn()
        print("ok %d - %s" % (n, name), flush=True)
    except BaseException as e:
        print("not ok %d - %s\n# %s: %s" % (n, name, type(e).__name__, str(e)[:500].replace("\n", "\n# ")), flush=True)


def prefix():
    assert sys.prefix == sys.base_prefix == "/opt/python", sys.prefix
    assert os.__file__ == "/opt/python/lib/python%d.%d/os.py" % sys.version_info[:2], os.__file__
    assert all(p.startswith("/opt/python/") for p in sys.path), sys.path


def standard_library():
    import bz2, csv, ctypes, curses, decimal, hashlib, lzma, readline, sqlite3, ssl, uuid, zlib, zoneinfo
    assert len(ssl.RAND_bytes(8)) == 8
    assert sqlite3.connect(":memory:").execute("select 6*7").fetchone() == (42,)
    assert lzma.decompress(lzma.compress(b"x")) == b"x"
    assert hashlib.sha256(b"").hexdigest().startswith("e3b0c442")


def whole_standard_library():
    import importlib
    skip = {"antigravity", "this", "idlelib", "turtle", "tkinter", "turtledemo", "test", "lib2to3", "_tkinter"}
    bad = []
    warnings.simplefilter("ignore", DeprecationWarning)
    for name in sorted(sys.stdlib_module_names - skip):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            pass
        except BaseException as e:
            bad.append((name, repr(e)))
    assert not bad, bad


def time_zones():
    import time
    import zoneinfo
    from datetime import datetime
    at = datetime(2026, 1, 2, tzinfo=zoneinfo.ZoneInfo("Asia/Shanghai"))
    assert at.isoformat() == "2026-01-02T00:00:00+08:00", at
    assert len(zoneinfo.available_timezones()) > 400
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    assert time.strftime("%Z", time.localtime(0)) == "EST"
    del os.environ["TZ"]
    time.tzset()
    assert time.localtime(0).tm_hour == 0


def users_and_locale():
    import grp
    import locale
    import pwd
    import socket
    assert pwd.getpwuid(1000).pw_name == "sandbox" and pwd.getpwuid(1000).pw_dir == "/mnt/data"
    assert pwd.getpwuid(0).pw_name == "root" and grp.getgrgid(1000).gr_name == "sandbox"
    assert locale.setlocale(locale.LC_ALL, "C.UTF-8") == "C.UTF-8"
    assert socket.gethostbyname("localhost") == "127.0.0.1"


def data_packages():
    import numpy as np
    import pandas as pd
    assert np.linalg.inv(np.eye(200) * 2)[0, 0] == 0.5
    assert str(pd.date_range("2026-01-01", periods=2, tz="Asia/Shanghai")[1]) == "2026-01-02 00:00:00+08:00"
    frame = pd.DataFrame({"g": ["a", "b", "a"], "x": [1, 2, 3]})
    assert frame.groupby("g")["x"].sum().to_dict() == {"a": 4, "b": 2}
    np.testing.assert_allclose([1.0], [1.0])


def excel():
    import pandas as pd
    with pd.ExcelWriter("/tmp/book.xlsx") as book:
        pd.DataFrame({"城市": ["北京"], "n": [1]}).to_excel(book, sheet_name="Sheet2", index=False)
    back = pd.read_excel("/tmp/book.xlsx", sheet_name=None)
    assert list(back) == ["Sheet2"] and back["Sheet2"].iloc[0].tolist() == ["北京", 1]


def chinese_plot():
    import logging
    import matplotlib
    import matplotlib.pyplot as plt
    records = []
    handler = logging.Handler()
    handler.emit = lambda r: records.append(r.getMessage())
    logging.getLogger("matplotlib").addHandler(handler)
    assert matplotlib.get_backend().lower() == "agg"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plt.plot(["周一", "周二", "周三"], [-3, 5, 2])
        plt.title("最高气温 −3℃")
        plt.savefig("/tmp/weather.png")
    assert not records, records
    with open("/tmp/weather.png", "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"


def render(char, **style):
    import matplotlib.pyplot as plt
    figure = plt.figure(figsize=(1, 1))
    figure.text(0.2, 0.2, char, fontsize=30, **style)
    figure.canvas.draw()
    pixels = bytes(figure.canvas.buffer_rgba())
    plt.close(figure)
    assert len(set(pixels)) > 2, "nothing was drawn"
    return hashlib.sha256(pixels).hexdigest()


def glyphs_are_not_boxes(**style):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = [render(c, **style) for c in "周四日한7−"]
        warnings.simplefilter("ignore")
        box = render("\uffff")
    assert len(set(drawn)) == len(drawn) and box not in drawn


def fonts_of_other_computers():
    import matplotlib.pyplot as plt
    for name in ("SimHei", "Microsoft YaHei", "Arial"):
        glyphs_are_not_boxes(family=name)
    with plt.rc_context({"font.sans-serif": ["SimHei"], "font.family": "sans-serif", "axes.unicode_minus": False}):
        glyphs_are_not_boxes()
    with plt.style.context("seaborn-v0_8"):
        glyphs_are_not_boxes()


def every_picture_format():
    import matplotlib.pyplot as plt
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plt.figure()
        plt.title("最高气温 −3℃ 한국어")
        for kind, head in (("svg", b"<?xml"), ("pdf", b"%PDF-"), ("jpg", b"\xff\xd8"), ("webp", b"RIFF")):
            plt.savefig("/tmp/p." + kind)
            with open("/tmp/p." + kind, "rb") as f:
                assert f.read(len(head)) == head, kind


def font_cache_is_used():
    from matplotlib import font_manager
    path = os.path.join(os.environ["MPLCONFIGDIR"], "fontlist-v%s.json" % font_manager.FontManager.__version__)
    assert os.path.islink(path), "matplotlib wrote a cache of its own"
    names = {os.path.basename(e.fname) for e in font_manager.fontManager.ttflist}
    assert "DejaVuSans.ttf" in names and all(os.path.exists(e.fname) for e in font_manager.fontManager.ttflist)


def nothing_to_install_with():
    import importlib.util
    for name in ("pip", "ensurepip", "setuptools"):
        assert importlib.util.find_spec(name) is None, name
    for name in ("/bin/sh", "/usr/bin/sh", "/bin/bash", "/opt/python/bin/pip"):
        assert not os.path.exists(name), name


def bytecode_is_there():
    import json
    import pandas
    for module in (json, pandas):
        with open(module.__cached__, "rb") as f:
            head = f.read(8)
        assert int.from_bytes(head[4:], "little") == 1, "not the kind that is never checked against its source"


def no_trace_of_the_builder():
    import sysconfig
    values = [v for v in sysconfig.get_config_vars().values() if isinstance(v, str)]
    assert not [v for v in values if "/.pyenv/" in v or "/root/" in v]


TESTS = [
    ("the prefix is /opt/python", prefix),
    ("standard library with its shared libraries", standard_library),
    ("every module of the standard library imports", whole_standard_library),
    ("time zones", time_zones),
    ("users, locale and localhost", users_and_locale),
    ("numpy and pandas", data_packages),
    ("an Excel file and back", excel),
    ("a plot with Chinese text warns of nothing", chinese_plot),
    ("the glyphs of Chinese text are not boxes", glyphs_are_not_boxes),
    ("fonts that programs name have the glyphs", fonts_of_other_computers),
    ("pictures of every kind", every_picture_format),
    ("matplotlib's font cache is the prebuilt one", font_cache_is_used),
    ("no pip, no shell", nothing_to_install_with),
    ("bytecode is compiled beforehand", bytecode_is_there),
    ("nothing names the builder's folders", no_trace_of_the_builder),
]
print("1..%d" % len(TESTS), flush=True)
for test_name, function in TESTS:
    check(test_name, function)
