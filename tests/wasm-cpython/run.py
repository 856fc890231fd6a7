#!/usr/bin/env python3
"""CPython's own test modules inside the guest of the wasm provider.

    run.py [--source PATH] [--list short|all] [--only MODULE]… [--write | --write-page | --check] [-- options of mf-driver]

One point a module: its tests pass or fail as known.json says, and their numbers are those of measured.json; the last lines
are the sums. PATH is the source of CPython 3.13.5 as a folder or a tarball; without it MAYFLY_CPYTHON_SOURCE,
MAYFLY_CPYTHON_TARBALL and what scripts/setup-wasm-runtime fetched are looked at. --write puts the numbers of this run into
measured.json and writes docs/wasm-cpython.md; --write-page only the page; --check only compares the files of the repository."""
import argparse
import collections
import concurrent.futures
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]

import bundle  # noqa: E402
import driver  # noqa: E402
import lists  # noqa: E402
import outcome  # noqa: E402
import page  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

TARBALL = "python3.13_3.13.5.orig.tar.xz"  # of scripts/wasmruntime/sources.py
SKIP_ROWS = 25
AT_ONCE = 2


def arguments():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(prog="run.py")
    parser.add_argument("--source")
    parser.add_argument("--list", choices=("short", "all"), default="short")
    parser.add_argument("--only", action="append", default=[], metavar="MODULE")
    parser.add_argument("--jobs", type=int, default=AT_ONCE)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--write-page", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args(sys.argv[1:at])
    args.options = ["--provider", "wasm", "--max-running", str(args.jobs)] + sys.argv[at + 1:]
    return args


def source_path(given):
    cache = os.environ.get("MAYFLY_WASM_CACHE") or os.path.join(places.ROOT, "deps", "wasm")
    for path in (given, os.environ.get("MAYFLY_CPYTHON_SOURCE"), os.environ.get("MAYFLY_CPYTHON_TARBALL"),
                 os.path.join(cache, "sources", TARBALL)):
        if path and (os.path.exists(path) or path == given):
            return path
    return None


def check_module(t, known, measured, done, is_write):
    problems = done.problems + known.differences(done)
    told, found = measured["modules"].get(done.module), lists.counts(done)
    if not is_write and told != found:
        problems.append("measured.json has %s, and it was %s (run.py --list all --write)" % (told, found))
    t.check("%s: %d of %d, %d skipped, %.1f s" % (done.module, done.passed, done.ran, found["skipped"], done.seconds),
            problems)


def run_modules(t, args, todo, known, measured):
    source = bundle.Source(source_path(args.source))
    results = []
    with driver.Driver(args.options) as door, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = [pool.submit(outcome.run, door, m.name, source.bundle(m.name, m.extra), m.flags) for m in todo]
        for future in running:
            results.append(future.result())
            check_module(t, known, measured, results[-1], args.write)
    return results


def write(results, modules):
    """The numbers of what ran; the reasons of skips only when all of it did."""
    measured, names = lists.measured(), {m.name for m in modules}
    measured["modules"].update({done.module: lists.counts(done) for done in results})
    measured["modules"] = {name: row for name, row in measured["modules"].items() if name in names}
    if len(results) == len(modules):
        skips = collections.Counter(why for done in results for _, what, why in done.tests if what == "skipped")
        rows = sorted(((n, why) for why, n in skips.items()), key=lambda row: (-row[0], row[1]))
        measured["skips"] = rows[:SKIP_ROWS]
    lists.write_measured(measured)


def check_files(t, known, modules):
    """What can be seen without running anything."""
    measured = lists.measured()
    names = [m.name for m in modules]
    with_tests = [n for n in names if measured["modules"].get(n, {}).get("passed")]
    t.check("known.json is in order", known.problems(names))
    t.ok(len(with_tests) >= lists.MODULES_MIN, "at least %d modules" % lists.MODULES_MIN,
         "%d have tests that pass" % len(with_tests))
    t.ok(sorted(names) == sorted(measured["modules"]), "measured.json has the modules of modules.txt",
         *sorted(set(names) ^ set(measured["modules"])))
    passed, ran, _ = lists.total(measured["modules"].values())
    explained = sum(len(known.expected(n)) for n in names)
    t.ok(ran - passed == explained, "as many failures as are explained",
         "%d failed, %d are explained" % (ran - passed, explained))
    t.check("docs/wasm-cpython.md tells of them", page.problems(known, measured))


def main():
    args = arguments()
    known, modules = lists.Known(), lists.modules()
    t = tap.Tap()
    if not args.check and not args.write_page:
        if source_path(args.source) is None:
            tap.skip_all("the source of CPython 3.13.5 is needed: --source, MAYFLY_CPYTHON_SOURCE or MAYFLY_CPYTHON_TARBALL")
        places.need("driver", "wasm")
        todo = [m for m in modules if m.name in args.only or not args.only and (args.list == "all" or m.is_short)]
        results = run_modules(t, args, todo, known, lists.measured())
        if args.write:
            write(results, modules)
        passed, ran, skipped = lists.total(lists.counts(done) for done in results)
        t.note("%d of %d tests passed (%s), %d skipped, in %d modules" % (passed, ran, lists.rate(passed, ran), skipped,
                                                                          len(results)))
    if args.write or args.write_page:
        with open(page.PAGE, "w", encoding="utf-8") as f:
            f.write(page.render(known, lists.measured()))
    if not args.only:
        check_files(t, known, modules)
    return t.done()


try:
    sys.exit(main())
except bundle.NoSource as e:
    sys.exit("run.py: %s" % e)
