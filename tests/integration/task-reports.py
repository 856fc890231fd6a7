#!/usr/bin/env python3
"""The cases that users of other code interpreters reported, 1 to 9, through the task API; then artifacts of every kind of
name, byte for byte."""
import hashlib
import io
import json
import os
import re
import struct
import sys
import urllib.parse
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402
from tasks import Server, request  # noqa: E402

PROGRAMS = os.path.join(places.TESTS, "conformance", "programs")
MIB = 1 << 20
t = tap.Tap()


def is_png(data):
    """A whole one: its chunks end with IEND."""
    return data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and data[-8:-4] == b"IEND" and min(struct.unpack(">II", data[16:24])) > 50


def next_works(g):
    task = g.run("print(1)")
    return [] if task["stdout"] == "1\n" else ["the next task: %s" % task]


def shown(task):
    return {k: v for k, v in task.items() if k != "receipt"}


def judge(name, g, task, problems, *conditions):
    """conditions: (bool, words)."""
    problems += [words for good, words in conditions if not good]
    if problems:
        problems.append(json.dumps(shown(task), ensure_ascii=False)[:1500])
    t.check(name, problems + next_works(g))


def plots(g):
    task = g.run('import matplotlib.pyplot as plt\nplt.plot(["周一", "周二", "周三"], [-3, 5, 2]); plt.title("最高气温 −3℃"); plt.savefig("weather.png")')
    found, problems = g.artifacts_of(task)
    judge("case 1: Chinese text in a plot", g, task, problems,
          (task["status"] == "succeeded", "it failed"), (is_png(found.get("weather.png", b"")), "no PNG"),
          ("Glyph" not in task["stderr"] and "findfont" not in task["stderr"], "complaints about fonts"))
    task = g.run('import pandas as pd, matplotlib.pyplot as plt\npd.DataFrame({"n": [1, 4, 9]}).plot(); plt.show()\nplt.figure(); plt.bar(["a"], [2]); plt.show()')
    found, problems = g.artifacts_of(task)
    judge("case 2: plt.show() with nothing saved", g, task, problems,
          (task["status"] == "succeeded", "it failed"), (sorted(found) == ["figure-1.png", "figure-2.png"], "other artifacts"),
          (all(map(is_png, found.values())), "no PNG"), ("non-interactive" not in task["stderr"], "a warning"))


def excel(g):
    book = g.artifacts_of(g.run("""import pandas as pd
with pd.ExcelWriter("in.xlsx") as w:
    pd.DataFrame({"a": [1]}).to_excel(w, sheet_name="Sheet1", index=False)
    pd.DataFrame({"city": ["Łódź", "周"], "n": [3, 4], "rate": [0.5, 1.25]}).to_excel(w, sheet_name="Sheet2", index=False)
"""))[0]["in.xlsx"]
    task = g.run('import pandas as pd\nx = pd.read_excel("in.xlsx", sheet_name=None)\nprint(list(x), x["Sheet2"].dtypes.astype(str).to_dict())\n'
                 'x["Sheet2"].to_excel("back.xlsx", index=False); x["Sheet2"].to_csv("back.csv", index=False)', {"in.xlsx": book})
    found, problems = g.artifacts_of(task)
    refused = [r["path"] for r in task["rejectedArtifacts"]]
    judge("case 3: Excel round trip", g, task, problems, (task["status"] == "succeeded", "it failed"),
          ("['Sheet1', 'Sheet2']" in task["stdout"] and "'n': 'int64'" in task["stdout"], "other sheets"),
          (found.get("back.csv", b"").decode() == "city,n,rate\nŁódź,3,0.5\n周,4,1.25\n", "back.csv"),
          ("back.xlsx" in refused or zipfile.is_zipfile(io.BytesIO(found.get("back.xlsx", b""))), "back.xlsx was dropped silently"))
    bomb(g, book)


def bomb(g, book):
    """A book of some hundred KB whose first sheet is one text of 400 MiB: it hurts its own sandbox only."""
    sheet, out = "xl/worksheets/sheet1.xml", io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != sheet:
                new.writestr(name, old.read(name))
        with new.open(sheet, "w") as f:
            f.write(b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
                    b'<c r="A1" t="inlineStr"><is><t>')
            for _ in range(400):
                f.write(b"a" * MIB)
            f.write(b"</t></is></c></row></sheetData></worksheet>")
    before = g.rss()
    task = g.run('import pandas as pd\nprint(pd.read_excel("in.xlsx"))', {"in.xlsx": out.getvalue()}, limits={"memoryMb": 256})
    grown = g.rss() - before
    judge("case 3: a workbook that is a bomb", g, task, [],
          ((task["status"], task["reason"], task["stdout"]) == ("failed", "memory", ""), "another end"),
          (len(out.getvalue()) < MIB, "%d bytes are no small book" % len(out.getvalue())),
          (grown < 50 * MIB, "the server has grown by %d bytes" % grown))


TREE = """import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3); open("canary", "w").write("alive"); os._exit(0)
    os._exit(0)
print("parent up", flush=True)
time.sleep(60)
"""


def trees(g):
    def quiet():
        m = g.metrics()
        return m["mayfly_executor_permits_busy"] == 0 and m["mayfly_provider_busy"] == 0, "sandboxes are busy: %s" % m

    task = g.run(TREE, limits={"timeoutMs": 1000})
    judge("case 4: a timeout ends the whole tree", g, task, g.until("4", quiet),
          ((task["status"], task["reason"], task["stdout"], task["artifacts"]) == ("timed_out", "wall_time", "parent up\n", []), "another end"),
          (1000 <= task["usage"]["durationMs"], "it ended before its time"))
    task_id = g.submit(request(TREE))["taskId"]
    follower = g.follow(task_id)
    follower.read_until(b"parent up")
    g.json("POST", "/v1/tasks/%s/cancel" % task_id)
    follower.read_until(b'"status":"cancelled"')
    follower.close()
    task = g.end_of(task_id)
    judge("case 4: cancel ends the whole tree", g, task, g.until("4", quiet),
          ((task["status"], task["stdout"], task["artifacts"]) == ("cancelled", "parent up\n", []), "another end"))
    task = g.run('import time\nprint("step one done")\ntime.sleep(30)', limits={"timeoutMs": 1000})
    judge("case 5: output before a timeout is kept", g, task, [],
          ((task["status"], task["stdout"]) == ("timed_out", "step one done\n"), "another end"))
    task = g.run('import subprocess, sys\nsubprocess.Popen([sys.executable, "-c", "import time; time.sleep(40)"], start_new_session=True)\nprint("launched")')
    judge("case 7: a child that holds stdout", g, task, g.until("7", quiet),
          ((task["status"], task["exitCode"], task["stdout"]) == ("succeeded", 0, "launched\n"), "another end"),
          (task["usage"]["durationMs"] < 30000, "it waited for the child"))


def characters(g):
    for n, kept in ((100_000, 100_002), (400_000, 2 + (1048574 - 2) // 3)):
        task = g.run('import sys\nsys.stdout.write("ab" + "☕" * %d)' % n)
        judge("case 6: %d characters of three bytes" % n, g, task, [],
              (task["stdout"] == "ab" + "☕" * (kept - 2), "%d characters" % len(task["stdout"])),
              (task["truncated"] == {"stdout": kept != n + 2, "stderr": False} and task["status"] == "succeeded", "the flag"))
        events = g.events(task["taskId"])[1]
        text = "".join(d["text"] for _, kind, d in events if kind == "stdout")
        t.ok(text == task["stdout"] and all("\ufffd" not in d["text"] for _, k, d in events if k == "stdout"), "case 6: and as events")


def links(g):
    task = g.run("""import os
os.symlink("/etc/passwd", "users.csv")
os.symlink("/proc/self/environ", "env.csv")
os.mkfifo("pipe.csv")
os.makedirs("d"); os.symlink("/", "d/root")
open("ok.csv", "w").write("x\\n1\\n"); os.link("ok.csv", "hard.csv"); os.symlink("ok.csv", "inner.csv")
""")
    found, problems = g.artifacts_of(task)
    refused = {r["path"]: r["reason"] for r in task["rejectedArtifacts"]}
    judge("case 8: artifacts that are links", g, task, problems,
          (found.get("ok.csv") == b"x\n1\n" and set(found) <= {"ok.csv", "hard.csv"}, "other artifacts: %s" % sorted(found)),
          ({"users.csv", "env.csv", "pipe.csv", "inner.csv"} <= set(refused) and all(refused.values()), "what was refused: %s" % refused))


def imports(g):
    task = g.run("""import importlib, pkgutil, sys
skip = {"antigravity", "this", "idlelib", "turtle", "tkinter", "turtledemo", "test", "lib2to3", "_tkinter", "msvcrt", "winreg", "nt"}
bad = []
for m in sorted(sys.stdlib_module_names):
    if m in skip or m.startswith("_win"): continue
    try: importlib.import_module(m)
    except ModuleNotFoundError: pass
    except BaseException as e: bad.append((m, repr(e)))
import json, numpy as np, pandas as pd
print(json.dumps({"a": float(np.linalg.inv(np.eye(200) * 2)[0, 0])}), pd.date_range("2026-01-01", periods=2, tz="Asia/Shanghai")[1], bad)
""")
    judge("case 9: ordinary imports", g, task, [],
          ((task["stdout"], task["exitCode"]) == ('{"a": 0.5} 2026-01-02 00:00:00+08:00 []\n', 0), "another end"))


NAMES = ["plain.csv", "ünï☕.csv", "with space .csv", " lead", "trail ", "quote\".csv", "back\\slash.csv", "per%22cent%.csv", "semi;colon.csv",
         "com,ma.csv", "a=b&c#d?e.csv", "'single'.csv", "<b>.html", "\u202egnp.exe", "e\u0301.csv", "a" * 251 + ".csv", ".hidden", "..dots", "-rf",
         "CON", "name.csv.", "~", "$(id).csv", "%2e%2e", "deep/er/and/deeper/x.png", "ключ/значение.txt", "\u3000", "\U0001f600" * 60]


def names(g):
    code = """import hashlib, json, os
for i, n in enumerate(json.load(open("names.json"))):
    if os.path.dirname(n): os.makedirs(os.path.dirname(n), exist_ok=True)
    open(n, "wb").write(hashlib.shake_128(str(i).encode()).digest(1000 + i))
os.remove("names.json")
"""
    task = g.run(code, {"names.json": json.dumps(NAMES).encode()})
    found, problems = g.artifacts_of(task)
    for i, name in enumerate(NAMES):
        if found.get(name) != hashlib.shake_128(str(i).encode()).digest(1000 + i):
            problems.append("%r: other bytes, or none" % name)
    if set(found) != set(NAMES):
        problems.append("others: %r" % (set(found) ^ set(NAMES)))
    judge("artifacts of every kind of name, byte for byte", g, task, problems)
    problems = []
    for a in task["artifacts"]:
        field = g.artifact(a, method="HEAD")[1]["content-disposition"]
        match = re.fullmatch(r'attachment; filename="([ !#$&-.0-\[\]-~]*)"(?:; filename\*=UTF-8\'\'([!#$&+.^_`|~0-9A-Za-z%-]*))?', field)
        base = a["path"].rsplit("/", 1)[-1]
        if not match or (urllib.parse.unquote(match[2]) if match[2] else match[1]) != base:
            problems.append("%r: %s" % (base, field))
    t.check("their names in Content-Disposition", problems)
    again = g.run("import os, json\nprint(json.dumps(sorted(os.path.join(w, f)[2:] for w, _, n in os.walk('.') for f in n)))", found)
    t.ok(json.loads(again["stdout"] or "[]") == sorted(NAMES), "and back as inputs", again["stdout"][:300], again["stderr"][:300])


def main():
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    with Server() as g:
        trees(g)
        characters(g)
        links(g)
        names(g)
        plots(g)
        excel(g)
        imports(g)
        t.ok(g.stop() == 0, "the server ends well", g.log()[-2000:])
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
