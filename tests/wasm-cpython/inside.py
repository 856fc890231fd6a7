"""Inside the guest: runs one of CPython's test modules and tells of each test. The program is `__import__("inside").main()`,
since some tests look at what is in __main__.

Inputs beside it: tests.zip (what bundle.py packed, unpacked into files here: many tests read files that lie beside
them) and request.json: {"module": "test_json", "from": number of the first test to run, "flags": [words of
modules.txt]}.

Every line that is ours starts with MARK; whatever the tests themselves print is noise between them. The events:
    {"tests": n}                    the module is loaded and has so many tests
    {"start": number, "id": "…"}    before each test, so that one that ends the program is known
    {"id", "outcome", "why"}        after it: passed, failed, skipped, expected (a failure that the test says will come)
    {"end": true}                   after the last
"""
import json
import os
import random
import struct
import sys
import threading
import traceback
import types
import unittest
import zipfile
import zlib

MARK = "\x1e"
ROOT = "/tmp/cpython"
WORK = "/tmp/work"
WHY_MAX = 1500

write = os.write


def tell(**event):
    data = ("\n" + MARK + json.dumps(event) + "\n").encode()
    while data:
        data = data[write(1, data):]


def why(error):
    """The end of it, where the error itself is."""
    text = "".join(traceback.format_exception(*error)) if isinstance(error, tuple) else str(error)
    return text if len(text) <= WHY_MAX else "…" + text[-WHY_MAX:]


class Told(unittest.TestResult):
    def __init__(self, numbers):
        super().__init__()
        self.numbers, self.current, self.outcome = numbers, None, None

    def startTest(self, test):
        super().startTest(test)
        self.current, self.outcome = test, ("passed", "")
        tell(start=self.numbers.get(id(test), -1), id=test.id())

    def stopTest(self, test):
        super().stopTest(test)
        tell(id=test.id(), outcome=self.outcome[0], why=self.outcome[1])
        self.current = None

    def found(self, test, outcome, text):
        """The worst of what is told of a test counts; what is no test (a class's or module's fixture) stands for itself."""
        if self.current is None:
            tell(id=test.id(), outcome=outcome, why=text)
        elif self.outcome[0] != "failed":
            self.outcome = outcome, text

    def addError(self, test, err):
        self.found(test, "failed", why(err))

    addFailure = addError

    def addSkip(self, test, reason):
        self.found(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.found(test, "expected", "")

    def addUnexpectedSuccess(self, test):
        self.found(test, "failed", "passed, though the test says that it fails")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.found(subtest if self.current is None else test, "failed", f"{subtest._subDescription()}: {why(err)}")


def unpack():
    with zipfile.ZipFile("tests.zip") as z:
        z.extractall(ROOT)
    os.makedirs(WORK)
    os.chdir(WORK)
    sys.path.insert(0, ROOT + "/Lib")


# Of these modules, what test modules want while they are loaded.
FACTS = {"_testinternalcapi": {"get_config": lambda: {"code_debug_ranges": True},
                               "get_immortalize_deferred": lambda: False,
                               "SIZEOF_PYGC_HEAD": 2 * struct.calcsize("P")},
         "test.support.i18n_helper": {"TestTranslationsBase": object},
         "lzma": {"decompress": zlib.decompress}}  # of what bundle.py compressed anew


class Absent(types.ModuleType):
    """In the place of a module that is not to be had (mostly C that only CPython's own test build has): the tests that
    need it are skipped, and not the whole test module that imports it."""

    def __init__(self, name):
        super().__init__(name)
        self.__dict__.update(FACTS.get(name, {}))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*args, **kwargs):
            raise unittest.SkipTest(f"needs {self.__name__}.{name}")
        return missing


def set_up(flags):
    """As libregrtest does before a module: no resources (network, much memory, long computations), a hook for threads,
    always the same random numbers."""
    from test import support
    support.use_resources = ()
    support.verbose = False
    support.record_original_stdout(sys.stdout)
    sys.stdout.reconfigure(errors="backslashreplace")
    threading.excepthook = lambda told: None
    random.seed(20250611)
    for flag in flags:
        if flag == "sockets":  # they skip themselves as a whole, and use an event loop only
            from test.support import socket_helper
            support.has_socket_support = socket_helper.has_gethostname = True
        else:
            sys.modules[flag] = Absent(flag)


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def run():
    with open("request.json") as f:
        request = json.load(f)
    unpack()
    set_up(request["flags"])
    try:
        tests = list(flat(unittest.TestLoader().loadTestsFromName("test." + request["module"])))
    except unittest.SkipTest as e:
        return tell(id="module", outcome="skipped", why=str(e))
    except Exception:
        return tell(id="module", outcome="failed", why=why(sys.exc_info()))
    tell(tests=len(tests))
    numbers = {id(test): number for number, test in enumerate(tests)}
    unittest.TestSuite(tests[request["from"]:]).run(Told(numbers))


def main():
    run()
    tell(end=True)
    os._exit(0)
