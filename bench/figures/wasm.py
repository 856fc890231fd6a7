"""The wasm provider beside pyeryx: what is measured, what must hold of it, and its table."""
from typing import NamedTuple

from .claims import number

PROGRAMS = ("print", "loop", "mixed")  # bench/jobs


class Row(NamedTuple):
    id: str
    title: str
    worker: str
    once: str
    figure: str = "ms"  # of the answer
    rate: str = ""
    every: int = 1  # only each such round has a sample, for slow programs

    @property
    def job(self):
        return self.id.rsplit(".", 1)[1]


ROWS = [
    Row("ours.result.print", "Mayfly wasm, fresh sandbox, to its result", "ours", "once stdlib print", rate="rate stdlib print"),
    Row("ours.released.print", "Mayfly wasm, fresh sandbox, with its teardown", "ours", "once stdlib print", "releasedMs"),
    Row("eryx.new.print", "pyeryx, fresh sandbox, to its result", "eryx", "once new", rate="rate new"),
    Row("eryx.new-teardown.print", "pyeryx, fresh sandbox, with its teardown", "eryx", "once new-teardown"),
    Row("eryx.kept.print", "pyeryx, kept sandbox, `execute` alone", "eryx", "once kept", rate="rate kept"),
    Row("ours.loop", "Mayfly wasm, a loop of 10 million additions, with fuel", "ours", "once stdlib loop", every=30),
    Row("eryx.loop", "pyeryx, the same", "eryx", "once loop", every=30),
    Row("ours.mixed", "Mayfly wasm, dictionaries, JSON, regular expressions, objects", "ours", "once stdlib mixed", every=30),
    Row("eryx.mixed", "pyeryx, the same", "eryx", "once mixed", every=30),
]

# (what, one row, the other, the figure, "≤" or "≥", target)
CLAIMS = [
    ("fresh sandbox, `print(1)`, teardown: p50 against pyeryx", "ours.released.print", "eryx.new-teardown.print", "p50Ms", "≤", 0.4),
    ("sustained `print(1)`: rate against pyeryx", "ours.result.print", "eryx.new.print", "perSecond", "≥", 2),
    ("a loop of 10 million additions with fuel: time against pyeryx", "ours.loop", "eryx.loop", "p50Ms", "≤", 1),
]


def judged(data):
    """Rows of (what, measured, target as text, whether it is reached)."""
    rows, out = {r["id"]: r for r in data["rows"]}, []
    for what, a, b, figure, sign, target in CLAIMS:
        ratio = rows[a][figure] / rows[b][figure]
        out.append((what, f"{ratio:.2f}×", f"{sign} {target}×", ratio <= target if sign == "≤" else ratio >= target))
    return out


HEADINGS = ["", "p50 ms", "p95 ms", "p99 ms", "a second", "at a time"]


def table(data):
    rows = {r["id"]: r for r in data["rows"]}
    return [[row.title] + [number(rows[row.id][key]) for key in ("p50Ms", "p95Ms", "p99Ms")] +
            [number(rows[row.id]["perSecond"]) if row.rate else "", str(rows[row.id].get("running", ""))]
            for row in ROWS if row.id in rows]


def as_text(data):
    out = []
    for row in [HEADINGS] + table(data):
        out.append(f"  {row[0].replace('`', ''):64}" + "".join(f"{c:>10}" for c in row[1:]))
    out.append("")
    for what, measured, target, reached in judged(data):
        out.append(f"{what.replace('`', ''):66} {measured:>9} {target:>8}  {'yes' if reached else 'NO'}")
    return "\n".join(out)
