from contextlib import contextmanager


@contextmanager
def section(name):
    print("<" + name)
    yield name.upper()
    print(name + ">")


def kind(v):
    match v:
        case {"x": int(x), **rest}:
            return f"x={x} {rest}"
        case [first, *others]:
            return f"{first=} {others!r:>8}"
        case str() as s if (n := len(s)) > 2:
            return f"{s}:{n}"
        case _:
            return "other"


def count(n, /, *, step=1):
    got = yield from range(0, n, step)
    return got


with section("a") as a:
    print(a, kind({"x": 1, "y": 2}), kind([1, 2]), kind("abc"), kind(3))
print([*count(7, step=3)], {k: v for k, v in zip("ab", (1, 2))}, f"{3.14159:.2f} {'é':*^5}")
