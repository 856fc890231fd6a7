"""Runs one test module in sandboxes and tells what became of each of its tests."""
import json
import os
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = '__import__("inside").main()\n'
MARK = "\x1e"
RESTARTS_MAX = 40
LIMITS = {"wallMs": 900_000, "memoryBytes": 1 << 30, "fuel": 10 ** 14, "stdoutBytes": 16 << 20, "stderrBytes": 1 << 20}

# How a test can go wrong: by itself; taking the interpreter with it; using up a limit.
FAILS, CRASHES, HANGS = "fails", "crashes", "hangs"


class Outcome:
    def __init__(self, module):
        self.module = module
        self.tests = []       # (id, passed|failed|skipped|expected, why)
        self.wrong = {}       # id: (FAILS|CRASHES|HANGS, why)
        self.problems = []    # of the run as a whole
        self.seen = {}        # id: how often
        self.seconds = 0.0

    def count(self, *outcomes):
        return sum(1 for _, outcome, _ in self.tests if outcome in outcomes)

    @property
    def passed(self):
        return self.count("passed", "expected")

    @property
    def ran(self):
        return self.passed + self.count("failed")

    def add(self, name, outcome, why, how=FAILS):
        """Two tests can have the same id (doctests have); the second one's is given a number."""
        self.seen[name] = self.seen.get(name, 0) + 1
        if self.seen[name] > 1:
            name += " (%d)" % self.seen[name]
        self.tests.append((name, outcome, why))
        if outcome == "failed":
            self.wrong[name] = how, why


class Part:
    """What one sandbox told."""

    def __init__(self, result):
        self.result = result
        self.total = self.last = self.open = None
        self.ended = False
        self.told = []
        for line in result["stdout"].split("\n"):
            if line.startswith(MARK):
                self._event(line[len(MARK):])

    def _event(self, text):
        try:
            event = json.loads(text)
        except ValueError:
            return  # cut by a limit of the output
        if "tests" in event:
            self.total = event["tests"]
        elif "start" in event:
            self.last, self.open = event["start"], event["id"]
        elif "outcome" in event:
            self.told.append((event["id"], event["outcome"], event["why"]))
            if event["id"] == self.open:
                self.open = None
        elif "end" in event:
            self.ended = True

    def how(self):
        """In whose hands a test was when the sandbox ended too early."""
        r = self.result
        words = "%s, %s, exit code %s %s" % (r["status"], r["reason"], r["exitCode"], r.get("diagnostic") or "")
        tail = r["stderr"].strip()[-1500:]
        return (HANGS if r["reason"] in ("wall_time", "fuel") else CRASHES), words.strip() + ("\n" + tail if tail else "")


def run(door, module, zipped, flags=()):
    """`door`: a driver.Driver. After a test that ends the sandbox the next one goes on behind it."""
    with open(os.path.join(HERE, "inside.py"), encoding="utf-8") as f:
        inside = f.read()
    outcome, first, start = Outcome(module), 0, time.monotonic()
    for _ in range(RESTARTS_MAX):
        request = json.dumps({"module": module, "from": first, "flags": list(flags)})
        result = door.run_when_free(PROGRAM, files={"inside.py": inside, "tests.zip": zipped, "request.json": request},
                                    limits=LIMITS, timeout=LIMITS["wallMs"] / 1000 + 120)
        part = Part(result)
        for told in part.told:
            outcome.add(*told)
        if part.ended:
            break
        how, words = part.how()
        if part.total is None or part.last is None or part.last + 1 <= first:
            outcome.add("module", "failed", "ended while it was loaded: " + words, how)
            break
        outcome.add(part.open or "after test %d" % part.last, "failed", words, how)
        first = part.last + 1
        if first >= part.total:
            break
    else:
        outcome.problems.append("gave up after %d sandboxes" % RESTARTS_MAX)
    outcome.seconds = time.monotonic() - start
    return outcome
