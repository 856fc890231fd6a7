"""What must hold, computed from the figures, and the figures as a table."""

MIB = 1 << 20


class Figures:
    def __init__(self, data):
        self.data = data
        self.rows = {r["id"]: r for r in data["rows"]}

    def get(self, id, key="p50Ms"):
        return self.rows.get(id, {}).get(key)

    def ratio(self, a, b, a_key="p50Ms", b_key="p50Ms"):
        x, y = self.get(a, a_key), self.get(b, b_key)
        return x / y if x is not None and y else None

    def idle_mib(self, kind):
        memory = self.data.get("idleMemory") or {}
        seen = memory.get(kind + "Bytes")
        if seen:
            return seen[len(seen) // 2] / MIB
        said = memory.get("supervisorBytes") if kind == "data" else None
        return said / MIB if said else None


POOL, DEMAND = "mayfly.pool.data", "mayfly.demand.data"

# (what, how it is computed, "≤" or "≥", target, unit)
CLAIMS = [
    ("`print(1)` from the pool against a new pyeryx sandbox and its execution",
     lambda f: f.ratio(POOL + ".print", "eryx.new.print"), "≤", 0.8, "×"),
    ("`print(1)` from the pool against the same with the sandbox's teardown",
     lambda f: f.ratio(POOL + ".print", "eryx.new-teardown.print"), "≤", 0.3, "×"),
    ("`print(1)` from the pool: p95 against p50",
     lambda f: f.ratio(POOL + ".print", POOL + ".print", "p95Ms"), "≤", 4, "×"),
    ("pandas job from the pool against a warm plain interpreter",
     lambda f: f.ratio(POOL + ".group-by", "warm.group-by"), "≤", 4, "×"),
    ("pandas job: cold Python against the pool",
     lambda f: f.ratio("cold.group-by", POOL + ".group-by"), "≥", 60, "×"),
    ("`print(1)` on demand: data runtime against stdlib runtime",
     lambda f: f.ratio(DEMAND + ".print", "mayfly.demand.stdlib.print"), "≤", 1.5, "×"),
    ("sustained `print(1)`, data runtime, pool", lambda f: f.get(POOL + ".print", "perSecond"), "≥", 500, "/s"),
    ("sustained `print(1)`, data runtime, on demand", lambda f: f.get(DEMAND + ".print", "perSecond"), "≥", 500, "/s"),
    ("sustained pandas job, pool", lambda f: f.get(POOL + ".group-by", "perSecond"), "≥", 200, "/s"),
    ("sustained pandas job, on demand", lambda f: f.get(DEMAND + ".group-by", "perSecond"), "≥", 200, "/s"),
    ("sustained `print(1)`, stdlib runtime, pool", lambda f: f.get("mayfly.pool.stdlib.print", "perSecond"), "≥", 900, "/s"),
    ("sustained `print(1)`, stdlib runtime, on demand",
     lambda f: f.get("mayfly.demand.stdlib.print", "perSecond"), "≥", 900, "/s"),
    ("private memory of an idle data sandbox", lambda f: f.idle_mib("data"), "≤", 3, " MiB"),
]


def number(x):
    """Three digits that count, more only where the whole part has them."""
    if x >= 100:
        return f"{x:.0f}"
    return f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def judged(data):
    """Rows of (what, measured or None, target as text, True, False or None)."""
    figures = Figures(data)
    rows = []
    for what, compute, sign, target, unit in CLAIMS:
        value = compute(figures)
        reached = None if value is None else (value <= target if sign == "≤" else value >= target)
        rows.append((what, None if value is None else number(value) + unit, f"{sign} {target:g}{unit}", reached))
    return rows


JOB_TITLES = {
    "print": "`print(1)`",
    "import": "`import numpy, pandas` and `print(1)`",
    "group-by": "pandas group-by over 10,000 rows",
}


def table(data, job):
    """Cells of one job's rows, quickest first, then those that were not measured."""
    rows = [r for r in data["rows"] if r["job"] == job]
    done = sorted((r for r in rows if "p50Ms" in r), key=lambda r: r["p50Ms"])
    cells = []
    for r in done:
        rate = number(r["perSecond"]) if "perSecond" in r else "–"
        cells.append([r["way"], number(r["p50Ms"]), number(r["p95Ms"]), number(r["p99Ms"]), rate, str(r["samples"])])
    cells += [[r["way"], "–", "–", "–", "–", "0"] for r in rows if "p50Ms" not in r]
    return cells


HEADINGS = ["way", "p50 ms", "p95 ms", "p99 ms", "runs/s", "samples"]


def as_text(data):
    """For a terminal."""
    out = []
    for job, title in JOB_TITLES.items():
        cells = table(data, job)
        if not cells:
            continue
        widths = [max(len(row[i]) for row in [HEADINGS] + cells) for i in range(len(HEADINGS))]
        out.append(title.replace("`", ""))
        for row in [HEADINGS] + cells:
            out.append("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
        out.append("")
    rows = [r for r in judged(data) if r[1] is not None]
    width = max((len(r[0].replace("`", "")) for r in rows), default=0)
    for what, measured, target, reached in rows:
        out.append(f"{what.replace('`', ''):{width}}  {measured:>10}  {target:>9}  {'yes' if reached else 'NO'}")
    return "\n".join(out)
