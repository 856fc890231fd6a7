"""The tables of docs/compatibility.md that tests read.

A row of "Declared differences" is `| Recording | Turn | Where | There | Here | Kind | Why |`. Recording, Turn and Where are
patterns in which `*` stands for anything and `{a,b}` for either; several turns are separated by blanks. There and Here are
JSON, `absent`, `…` (anything), or a JSON string that ends with `…` (begins so).
"""
import itertools
import json
import os
import re

from differences import ABSENT

COLUMNS = ["Recording", "Turn", "Where", "There", "Here", "Kind", "Why"]
KINDS = ("better", "not yet", "same")


def cells_of(line):
    return [c.strip().strip("`").strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def read(path, heading):
    """The rows of the first table below a heading, as lists of cells; the first row is its head."""
    rows, is_below = [], False
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                if rows:
                    break
                is_below = line.strip("#").strip() == heading
            elif is_below and line.startswith("|"):
                cells = cells_of(line)
                if not all(re.fullmatch(r":?-+:?", c) for c in cells):
                    rows.append([c.replace("\\|", "|") for c in cells])
            elif is_below and rows:
                break
    return rows


def _alternatives(pattern):
    """`a.{b,c}` is a.b and a.c."""
    parts = re.split(r"(\{[^{}]*\})", pattern)
    choices = [p[1:-1].split(",") if p.startswith("{") else [p] for p in parts]
    return ["".join(c).strip() for c in itertools.product(*choices)]


def _regexes(pattern):
    return [re.compile(re.escape(p).replace(r"\*", ".*")) for p in _alternatives(pattern)]


class Value:
    def __init__(self, text):
        self.text = text
        self.is_any = text == "…"
        self.prefix = None
        self.value = ABSENT
        if text.startswith('"') and text.endswith('…"'):
            self.prefix = json.loads(text)[:-1]
        elif not self.is_any and text != "absent":
            self.value = json.loads(text)

    def matches(self, value):
        if self.is_any:
            return value is not ABSENT
        if self.prefix is not None:
            return isinstance(value, str) and value.startswith(self.prefix)
        return value is self.value or (value is not ABSENT and self.value is not ABSENT and value == self.value
                                       and isinstance(value, bool) == isinstance(self.value, bool))


class Row:
    def __init__(self, cells):
        self.recording, self.turn, self.where = cells[:3]
        self.there, self.here = Value(cells[3]), Value(cells[4])
        self.kind, self.why = cells[5:7]
        if self.kind not in KINDS:
            raise ValueError("%s: the kind is none of %s" % (" | ".join(cells), ", ".join(KINDS)))
        self._recordings, self._wheres = _regexes(self.recording), _regexes(self.where)
        self._turns = [r for word in self.turn.split() for r in _regexes(word)]
        self.seen = set()  # which alternatives of where did occur

    def __str__(self):
        return " | ".join([self.recording, self.turn, self.where, self.there.text, self.here.text])

    def is_about(self, recording):
        return any(r.fullmatch(recording) for r in self._recordings)

    def covers(self, recording, turn, difference):
        if not self.is_about(recording) or not any(r.fullmatch(turn) for r in self._turns):
            return False
        if not self.there.matches(difference.there) or not self.here.matches(difference.here):
            return False
        hits = [n for n, r in enumerate(self._wheres) if r.fullmatch(difference.where)]
        self.seen.update(hits)
        return bool(hits)

    def unseen(self):
        """The declared places at which nothing differed."""
        return [p for n, p in enumerate(_alternatives(self.where)) if n not in self.seen]


def differences(path):
    rows = read(path, "Declared differences")
    if not rows or rows[0] != COLUMNS:
        raise ValueError("%s: no table of declared differences with the columns %s" % (path, COLUMNS))
    return [Row(cells) for cells in rows[1:]]


def pairs(path, heading, columns):
    """A plain table: its rows as tuples."""
    rows = read(path, heading)
    if not rows or rows[0] != columns:
        raise ValueError("%s: no table %r with the columns %s" % (path, heading, columns))
    return [tuple(r) for r in rows[1:]]


def path():
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(here, "..", "..", "docs", "compatibility.md")
