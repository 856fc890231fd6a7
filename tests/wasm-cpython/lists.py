"""The three files beside this one: which modules (modules.txt), what is known to go wrong and why (known.json), what was
measured last (measured.json).

modules.txt: a module a line, `*` after it when it is on the short list, then paths below Lib/test that it reads and that
bundle.py does not find by itself, and flags for inside.py: `+sockets` (it skips itself without sockets, but its tests use an
event loop only) and `+MODULE` (something takes the place of this C module, and skips the tests that use it).

known.json: {"reasons": {key: words}, "modules": {module: [{"reason": key, "how": "fails" | "crashes" | "hangs", "note": words
that say more (may be absent), "tests": [names]}]}}. A name is the test's id without "test.MODULE."."""
import json
import os

import outcome

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES_MIN = 120


class Module:
    def __init__(self, name, words):
        self.name, self.is_short = name, "*" in words
        self.flags = [w[1:] for w in words if w.startswith("+")]
        self.extra = [w for w in words if w[0] not in "*+"]


def modules():
    found = []
    with open(os.path.join(HERE, "modules.txt"), encoding="utf-8") as f:
        for line in f:
            words = line.partition("#")[0].split()
            if words:
                found.append(Module(words[0], words[1:]))
    return found


def short_name(module, test_id):
    prefix = "test.%s." % module
    return test_id[len(prefix):] if test_id.startswith(prefix) else test_id


class Known:
    def __init__(self, data=None):
        if data is None:
            with open(os.path.join(HERE, "known.json"), encoding="utf-8") as f:
                data = json.load(f)
        self.reasons, self.modules = data["reasons"], data["modules"]

    def expected(self, module):
        """{test: how it goes wrong}"""
        return {test: entry["how"] for entry in self.modules.get(module, ()) for test in entry["tests"]}

    def problems(self, names):
        """What is wrong with the file itself."""
        found, used = [], set()
        for module, entries in self.modules.items():
            if module not in names:
                found.append("known.json: %s is not in modules.txt" % module)
            tests = [test for entry in entries for test in entry["tests"]]
            found += ["known.json: %s: %s is there twice" % (module, t) for t in sorted(set(tests)) if tests.count(t) > 1]
            for entry in entries:
                used.add(entry["reason"])
                if entry["how"] not in (outcome.FAILS, outcome.CRASHES, outcome.HANGS):
                    found.append("known.json: %s: how: %r" % (module, entry["how"]))
                if not entry["tests"]:
                    found.append("known.json: %s: an entry without tests" % module)
        found += ["known.json: a reason that is not told: %s" % r for r in sorted(used - set(self.reasons))]
        found += ["known.json: a reason that nothing has: %s" % r for r in sorted(set(self.reasons) - used)]
        return found

    def differences(self, done):
        """Between what is known and what happened to the tests of a module."""
        expected = self.expected(done.module)
        wrong = {short_name(done.module, test): told for test, told in done.wrong.items()}
        found = []
        for test, (how, why) in wrong.items():
            if test not in expected:
                found.append("%s %s, which nothing explains: %s" % (test, how, why))
            elif expected[test] != how:
                found.append("%s %s, and not as known.json has it (%s): %s" % (test, how, expected[test], why))
        ran = {short_name(done.module, test): what for test, what, _ in done.tests}
        found += ["%s is explained in known.json, but it %s" % (t, ran.get(t, "is no test of this module"))
                  for t in sorted(set(expected) - set(wrong))]
        return found


def counts(done):
    return {"passed": done.passed, "ran": done.ran, "skipped": done.count("skipped")}


def measured():
    try:
        with open(os.path.join(HERE, "measured.json"), encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return {"modules": {}, "skips": []}


def write_measured(data):
    with open(os.path.join(HERE, "measured.json"), "w", encoding="utf-8") as f:
        f.write(json.dumps(data, indent=1, sort_keys=True).replace("\n   ", "").replace("\n  }", "}") + "\n")


def total(rows):
    """(passed, ran, skipped) of rows as counts() gives them."""
    rows = list(rows)
    return tuple(sum(row[key] for row in rows) for key in ("passed", "ran", "skipped"))


def rate(passed, ran):
    """Rounded down: 100 % is only all of them."""
    hundredths = passed * 10000 // ran if ran else 0
    return "%d.%02d %%" % divmod(hundredths, 100)
