import importlib, pkgutil, sys
skip = {"antigravity", "this", "idlelib", "turtle", "tkinter", "turtledemo", "test", "lib2to3", "_tkinter", "msvcrt", "winreg", "nt"}
bad = []
for m in sorted(sys.stdlib_module_names):
    if m in skip or m.startswith("_win"): continue
    try: importlib.import_module(m)
    except ModuleNotFoundError: pass
    except BaseException as e: bad.append((m, repr(e)))
import json, numpy as np, pandas as pd
print(json.dumps({"a": float(np.linalg.inv(np.eye(200) * 2)[0, 0])}), pd.date_range("2026-01-01", periods=2, tz="Asia/Shanghai")[1], bad)
