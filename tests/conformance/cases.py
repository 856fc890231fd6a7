"""Loads the programs of the conformance suite: a folder each, with main.py, expect.json and perhaps files/.

Inputs with names that a file system of a checkout may not like are in expect.json ("texts"), large ones are made
("generate")."""
import hashlib
import json
import os

import expect

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")


def generated(size, seed):
    """Bytes that look random and are the same each time."""
    return hashlib.shake_128(seed.encode()).digest(size)


def _filled(value, replacements):
    if isinstance(value, str):
        for mark, text in replacements.items():
            value = value.replace(mark, text)
        return value
    if isinstance(value, list):
        return [_filled(v, replacements) for v in value]
    if isinstance(value, dict):
        return {_filled(k, replacements): _filled(v, replacements) for k, v in value.items()}
    return value


class Case:
    """One program. `want` is its expect.json with ${MAIN} (the program's file as tracebacks name it) and
    ${SHA256:input} filled in."""

    def __init__(self, name, main, provider="local"):
        folder = os.path.join(PROGRAMS, name)
        self.name = name
        with open(os.path.join(folder, "main.py"), encoding="utf-8", newline="") as f:
            self.source = f.read()
        with open(os.path.join(folder, "expect.json"), encoding="utf-8") as f:
            want = json.load(f)
        self.provider = provider
        # What one kind of provider does otherwise: other expectations with the reason, or "skip": it cannot be asked.
        self.other = want.pop("on", {}).get(provider, {})
        want.update((k, v) for k, v in self.other.items() if k not in ("because", "skip"))
        # The expectations are written for the Python of the local provider's runtime.
        self.is_marked = provider == "local"
        if not self.is_marked:
            want["stderr"] = expect.unmarked(want.get("stderr", {}))
        self.files = {}
        inputs = os.path.join(folder, "files")
        for where, _, names in os.walk(inputs):
            for n in names:
                path = os.path.join(where, n)
                with open(path, "rb") as f:
                    self.files[os.path.relpath(path, inputs)] = f.read()
        self.files.update((n, text.encode()) for n, text in want.get("texts", {}).items())
        for n, how in want.get("generate", {}).items():
            self.files[n] = generated(how["bytes"], how["seed"])
        marks = {"${MAIN}": main}
        for n, data in self.files.items():
            marks["${SHA256:%s}" % n] = hashlib.sha256(data).hexdigest()
        self.want = _filled(want, marks)
        self.doors = want.get("doors", ["driver"])
        self.needs = want.get("needs", [])
        self.repeat = want.get("repeat", {"times": 1})
        self.alone = want.get("alone", False)
        self.plain = want.get("plain", True)  # False: never run without a sandbox

    def seen(self, text):
        """Standard error as it is compared."""
        return text if self.is_marked else expect.unmarked(text)

    def request(self):
        keys = ("argv", "limits", "runtime", "sourceName", "displayLastExpression", "cancelAfterMs", "cancelAfterStartMs")
        return {k: self.want[k] for k in keys if k in self.want}


def load(main, only=None, provider="local"):
    names = sorted(os.listdir(PROGRAMS))
    return [Case(n, main, provider) for n in names if not only or any(o in n for o in only)]


def is_for(case, caps):
    """Whether a kind of provider with these capabilities can be asked; what it cannot is a declared difference."""
    return set(case.needs) <= caps and not case.other.get("skip")
