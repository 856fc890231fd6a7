# memory: 512
"""What is nested without end is an exception, not the end of the program."""
import ast
import copy
import json
import pickle
import re
import sys
import xml.etree.ElementTree as ElementTree

deep = []
for _ in range(100_000):
    deep = [deep]


class Repr:
    def __repr__(self):
        return repr(self)


class Equal:
    def __eq__(self, other):
        return self == other


class Attribute:
    def __getattr__(self, name):
        return getattr(self, name)


class Init:
    def __init__(self):
        Init()


def by_sort(x):
    return sorted([1, 2], key=by_sort)


def by_map(x):
    return list(map(by_map, [x]))


def generator():
    yield from generator()


async def coroutine():
    await coroutine()


CALLS = {
    "repr": lambda: repr(deep), "own repr": lambda: repr(Repr()), "equal": lambda: deep == [deep],
    "own equal": lambda: Equal() == Equal(), "getattr": lambda: Attribute().x, "init": Init, "sort": lambda: by_sort(1),
    "map": lambda: by_map(1), "yield from": lambda: list(generator()), "await": lambda: coroutine().send(None),
    "json.dumps": lambda: json.dumps(deep), "json.loads": lambda: json.loads("[" * 100_000),
    "json.loads object": lambda: json.loads('{"a":' * 100_000), "pickle": lambda: pickle.dumps(deep),
    "plus": lambda: eval("+".join(["1"] * 50_000)), "minus": lambda: eval("-" * 100_000 + "1"),
    "attributes": lambda: compile("a" + ".b" * 50_000, "x", "exec"), "calls": lambda: compile("a" + "()" * 50_000, "x", "exec"),
    "lambdas": lambda: compile("lambda:" * 10_000 + "0", "x", "exec"),
    "conditions": lambda: compile("if a: pass\n" + "elif a: pass\n" * 20_000, "x", "exec"),
    "f-strings": lambda: compile("f'{" * 200 + "1" + "}'" * 200, "x", "exec"), "literal": lambda: ast.literal_eval("[" * 500),
    "entities": lambda: ElementTree.fromstring(
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
            '<!ENTITY %s "%s">' % (chr(98 + i), ("&%s;" % chr(97 + i)) * 10) for i in range(9)) + "]><x>&j;</x>"),
    "digits": lambda: int("9" * 5000),
}
# Without a limit on Python's own frames only the memory ends these; what passes through C is limited all the same.
ONLY_PYTHON = {"yield from", "await"}
for limit in (sys.getrecursionlimit(), 10**9):
    sys.setrecursionlimit(limit)
    for name, call in CALLS.items():
        if limit == 10**9 and name in ONLY_PYTHON:
            continue
        try:
            call()
        except (RecursionError, MemoryError, SyntaxError, ValueError) as e:
            print(name, type(e).__name__)
        else:
            raise AssertionError(name)
for _ in range(2):
    assert len(copy.deepcopy(deep)) == 1 and re.compile("(" * 3000 + "a" + ")" * 3000)


def count(n):
    return count(n + 1) if n < 20_000 else n


assert count(0) == 20_000
kept = None
for _ in range(300_000):
    kept = (kept,)
del kept, deep
print("still here")
