"""The task API beside the bare provider: what must hold of it, and its table."""
from .claims import number

# (id, title, whether a file goes in and comes out)
JOBS = [("print", "`print(1)`", False), ("copy", "a file in, a file out", True), ("group-by", "pandas group-by", False)]
WAYS = {"provider": "the bare provider", "task": "the task API: submit, then get with a wait"}


def rows_of(data):
    return {(r["job"], r["way"]): r for r in data["rows"]}


def judged(data):
    """Rows of (what, measured, target as text, whether it is reached)."""
    rows, out = rows_of(data), []
    for job, title, _ in JOBS:
        if (job, "task") not in rows or (job, "provider") not in rows:
            continue
        ours, bare = rows[job, "task"], rows[job, "provider"]
        added = ours["p50Ms"] - bare["p50Ms"]
        share = ours["perSecond"] / bare["perSecond"]
        out.append((f"p50 over the bare provider: {title}", f"{added:.2f} ms", "≤ 1 ms", added <= 1))
        out.append((f"throughput against the bare provider: {title}", f"{share:.2f}×", "≥ 0.8×", share >= 0.8))
    return out


HEADINGS = ["", "p50 ms", "p95 ms", "p99 ms", "a second", "at a time"]


def table(data, job):
    rows = rows_of(data)
    return [[title] + [number(rows[job, way][key]) for key in ("p50Ms", "p95Ms", "p99Ms", "perSecond")]
            + [str(rows[job, way].get("running", ""))] for way, title in WAYS.items() if (job, way) in rows]


def as_text(data):
    out = []
    for job, title, _ in JOBS:
        out.append(title.replace("`", ""))
        for row in [HEADINGS] + table(data, job):
            out.append(f"  {row[0]:45}" + "".join(f"{c:>10}" for c in row[1:]))
        out.append("")
    for what, measured, target, reached in judged(data):
        out.append(f"{what.replace('`', ''):60} {measured:>9} {target:>8}  {'yes' if reached else 'NO'}")
    return "\n".join(out)
