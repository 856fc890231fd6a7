#!/usr/bin/env python3
"""The runner itself: what it makes of sandboxes that end well, badly or not, and that nothing unexplained gets by."""
import io
import json
import os
import sys
import zipfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]

import bundle  # noqa: E402
import lists  # noqa: E402
import outcome  # noqa: E402
import tap  # noqa: E402

MARK = outcome.MARK


def told(*events, noise=""):
    return noise + "".join("\n" + MARK + json.dumps(e) + "\n" for e in events)


def start(n, name):
    return {"start": n, "id": "test.test_x." + name}


def end(name, what="passed", why=""):
    return {"id": "test.test_x." + name, "outcome": what, "why": why}


class Door:
    """Answers with one result after another."""

    def __init__(self, *results):
        self.results, self.asked = list(results), []

    def run_when_free(self, source, files, limits, timeout):
        self.asked.append(json.loads(files["request.json"])["from"])
        stdout, reason = self.results.pop(0)
        return {"status": "?", "reason": reason, "exitCode": None, "stdout": stdout, "stderr": "", "diagnostic": ""}


def run(*results):
    door = Door(*results)
    return outcome.run(door, "test_x", b""), door.asked


def known(*entries):
    return lists.Known({"reasons": {"because": "Because."}, "modules": {"test_x": [
        {"reason": "because", "how": how, "tests": list(tests)} for how, *tests in entries]}})


def sandboxes(t):
    good, asked = run((told({"tests": 2}, start(0, "A.a"), end("A.a"), start(1, "A.b"), end("A.b", "skipped", "no"),
                            {"end": True}, noise="chatter"), "exit"))
    t.ok(lists.counts(good) == {"passed": 1, "ran": 1, "skipped": 1} and asked == [0] and not good.wrong, "all is well",
         lists.counts(good), asked, good.wrong)

    crash, asked = run((told({"tests": 3}, start(0, "A.a"), end("A.a"), start(1, "A.b")), "signal"),
                       (told({"tests": 3}, start(2, "A.c"), end("A.c"), {"end": True}), "exit"))
    t.ok(asked == [0, 2] and crash.passed == 2 and crash.wrong["test.test_x.A.b"][0] == outcome.CRASHES,
         "behind a test that ends the sandbox the next one goes on", asked, crash.wrong)

    hang, asked = run((told({"tests": 1}, start(0, "A.a")), "wall_time"))
    t.ok(asked == [0] and hang.wrong["test.test_x.A.a"][0] == outcome.HANGS, "a limit is told from a crash", hang.wrong)

    early, asked = run((told(), "signal"))
    t.ok(asked == [0] and list(early.wrong) == ["module"], "a module that cannot be loaded has failed", early.wrong)

    many, asked = run(*[(told({"tests": 999}, start(n, "A.a%d" % n)), "signal") for n in range(outcome.RESTARTS_MAX)])
    t.ok(len(asked) == outcome.RESTARTS_MAX and many.problems, "there is an end to it", asked, many.problems)

    twice, _ = run((told({"tests": 2}, start(0, "f"), end("f"), start(1, "f"), end("f", "failed", "x"), {"end": True}), "exit"))
    t.ok(list(twice.wrong) == ["test.test_x.f (2)"] and twice.passed == 1, "two tests of one name are two", twice.wrong)


def differences(t):
    done, _ = run((told({"tests": 2}, start(0, "A.a"), end("A.a", "failed", "AssertionError"), start(1, "A.b"), end("A.b"),
                        {"end": True}), "exit"))
    t.check("an explained failure is right", known(("fails", "A.a")).differences(done))
    t.ok(known().differences(done), "a failure that nothing explains is wrong")
    t.ok(known(("crashes", "A.a")).differences(done), "one that goes wrong in another way is wrong")
    t.ok(known(("fails", "A.a", "A.b")).differences(done), "an explained failure that passes is wrong")
    t.ok(known(("fails", "A.a", "A.z")).differences(done), "an explanation of no test is wrong")
    t.ok(known(("fails", "A.a", "A.a")).problems(["test_x"]), "a test explained twice is wrong")
    t.ok(known(("breaks", "A.a")).problems(["test_x"]), "an unknown way of going wrong is wrong")
    t.ok(known(("fails", "A.a")).problems([]), "a module that is not listed is wrong")
    t.check("a file in order", known(("fails", "A.a")).problems(["test_x"]))
    t.ok(lists.rate(9999999, 10000000) == "99.99 %" and lists.rate(5, 5) == "100.00 %", "the rate is rounded down")


def bundles(t):
    source = bundle.Source.__new__(bundle.Source)
    source.files = {"__init__.py": b"", "support/__init__.py": b"", "test_x.py": b"from test import seq_tests, support\n",
                    "seq_tests.py": b"import test.test_y.part\n", "test_y/__init__.py": b"", "test_y/part.py": b"",
                    "test_z.py": b"", "data/a.txt": b"a"}
    with zipfile.ZipFile(io.BytesIO(source.bundle("test_x", ["data/"]))) as z:
        names = sorted(z.namelist())
    want = sorted("Lib/test/" + n for n in source.files if n != "test_z.py")
    t.ok(names == want, "a module is packed with what it imports", names)
    t.ok(source.bundle("test_x") == source.bundle("test_x"), "the same files give the same bytes")


def main():
    t = tap.Tap()
    sandboxes(t)
    differences(t)
    bundles(t)
    return t.done()


sys.exit(main())
