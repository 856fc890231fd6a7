"""docs/wasm-cpython.md, from the files that lists.py reads."""
import collections
import os

import lists

PAGE = os.path.join(os.path.dirname(os.path.dirname(lists.HERE)), "docs", "wasm-cpython.md")
HEAD = """# CPython's own tests in the WebAssembly guest

This page is written by `tests/wasm-cpython/run.py --write`, and each of its runs checks it.

CPython 3.13.5 brings its test-suite. The modules of it that make sense without threads, processes and sockets run
inside the guest of the wasm provider, each in a sandbox of its own, as a program that `mf-driver` is given: with the worker,
the limits and the files in memory that every program gets.

**{passed} of {ran} tests pass ({rate}), in {modules} test modules.** Each of the {wrong} that fail is explained below. A
failure without an explanation fails the run, and so does an explanation of a test that passes.

{skipped} more tests are skipped, by their own word: they are about another system, or the guest has no processes, threads
and sockets. Tests that ask for a *resource* (network, gigabytes, minutes of computing) are skipped as CPython's own runner
does by default. Some modules skip themselves as a whole because they import one of the C modules that only CPython's own
test build has: for those that `modules.txt` names, something takes the place of that import, and the tests that use it
are skipped alone. Others want sockets only because they run an event loop; they run here.
"""
RUNNING = """## Running it

```console
$ export MF_BUILD=$PWD/build-wasm                    # after make wasm, whose tarball of CPython is found; --source names another
$ python3 tests/wasm-cpython/run.py                  # the short list, as in `make test`: about 30 s
$ python3 tests/wasm-cpython/run.py --list all       # the whole list, as in `make soak`: about 5 minutes
$ python3 tests/wasm-cpython/run.py --only test_re   # one module
$ python3 tests/wasm-cpython/run.py --list all --write   # and this page anew
```
"""


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def reasons(known):
    counts = collections.Counter()
    for entries in known.modules.values():
        for entry in entries:
            counts[entry["reason"]] += len(entry["tests"])
    lines = ["| Reason | Tests | |", "|---|--:|---|"]
    lines += ["| %s | %d | %s |" % (reason, n, cell(known.reasons[reason])) for reason, n in counts.most_common()]
    return "\n".join(lines)


def failures(known):
    """A row for each module and reason."""
    lines = ["| Module | Tests | What they do | Reason |", "|---|---|---|---|"]
    for module, entries in sorted(known.modules.items()):
        for entry in entries:
            tests = ", ".join("`%s`" % cell(t) for t in entry["tests"])
            why = entry["reason"] + (": " + entry["note"] if entry.get("note") else "")
            lines.append("| `%s` | %s | %s | %s |" % (module, tests, entry["how"], cell(why)))
    return "\n".join(lines)


def module_rows(measured):
    lines = ["| Module | Passed | Ran | Skipped |", "|---|--:|--:|--:|"]
    for name, row in sorted(measured["modules"].items()):
        lines.append("| `%s` | %d | %d | %d |" % (name, row["passed"], row["ran"], row["skipped"]))
    return "\n".join(lines)


def skip_rows(measured):
    lines = ["| Tests | They say |", "|--:|---|"]
    lines += ["| %d | %s |" % (count, cell(reason)) for count, reason in measured["skips"]]
    return "\n".join(lines)


def render(known, measured):
    passed, ran, skipped = lists.total(measured["modules"].values())
    head = HEAD.format(passed=passed, ran=ran, skipped=skipped, rate=lists.rate(passed, ran), wrong=ran - passed,
                       modules=len(measured["modules"]))
    parts = [head, "## What fails, and why\n", reasons(known), "", failures(known), "\n## The modules\n",
             module_rows(measured), "\n## What is skipped\n",
             "The most frequent reasons that tests give for skipping themselves.\n", skip_rows(measured), "", RUNNING]
    return "\n".join(parts)


def problems(known, measured):
    try:
        with open(PAGE, encoding="utf-8") as f:
            is_same = f.read() == render(known, measured)
    except FileNotFoundError:
        is_same = False
    return [] if is_same else ["docs/wasm-cpython.md is not what these files make (run.py --write-page)"]
