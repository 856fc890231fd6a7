import importlib.util
import sys

print([m for m in sys.modules if "mayfly" in m.lower() or m == "boot"])
print([importlib.util.find_spec(n) for n in ("_mayfly", "boot", "pip", "ensurepip._bundled.pip")
       if n != "ensurepip._bundled.pip"])
print(any("mayfly" in p for p in sys.path), sys.path[0])
