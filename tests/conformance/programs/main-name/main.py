"""The docstring."""
import os
import sys

main = sys.modules["__main__"]
print(__name__, main.__dict__ is globals(), os.path.basename(__file__), __doc__)
print(__package__, __spec__, type(__builtins__).__name__)
with open(__file__) as f:
    print(os.path.exists(__file__), f.read(7))
print(sorted(k for k in globals() if k not in ("os", "sys", "main", "f")))
if __name__ == "__main__":
    print("main runs")
