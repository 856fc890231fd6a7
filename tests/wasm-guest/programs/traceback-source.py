# exit: 1
# stderr-exact: traceback-source.err
"""Tracebacks and inspect show the program's own lines."""
import inspect
import linecache
import sys


def first(x):
    return second(
        x,
        0)


def second(a, b):
    """Divides."""
    return (a + 1) / b


class Thing:
    def method(self):
        return first(1)


assert inspect.getsource(second) == 'def second(a, b):\n    """Divides."""\n    return (a + 1) / b\n'
assert inspect.getsource(Thing).startswith("class Thing:\n    def method") and inspect.getdoc(second) == "Divides."
assert inspect.getfile(second) == __file__ == sys.argv[0] == "/mnt/task/main.py", __file__
assert linecache.getline(__file__, 3) == '"""Tracebacks and inspect show the program\'s own lines."""\n'
assert sys.path[0] == "/mnt/data" and __name__ == "__main__" and sys._getframe().f_back is None
print("now", flush=True)
try:
    Thing().method()
except ZeroDivisionError as e:
    e.add_note("a note")
    raise RuntimeError("outer") from e
