"""The gateway's loads, what must hold of them, and their table."""
from .claims import number

# 192 pieces of 16 bytes and the 8 events around them.
TEXT = ("Mayflies live for a day or less; this text lives as long. " * 60)[:192 * 16]
ANSWER = {"pick": "turn", "loop": True, "rounds": [{"text": "The total is 1260, and the north has most of it."}]}
SCENARIO = {"scenarios": {"short": ANSWER, "long": {"pick": "turn", "loop": True, "rounds": [{"text": TEXT}]}}}
QUESTION = "What is the total of the amounts in my table, and which region has most of it?"


class Load:
    """id; title; the request's body; count: requests of one block."""

    def __init__(self, id, title, body, count):
        self.id, self.title, self.body, self.count = id, title, body, count


# A tool that is no function takes a request without `store` out of the raw proxy.
EXECUTOR = {"store": False, "tools": [{"type": "custom", "name": "note", "description": "Writes a note."}]}

LOADS = [
    Load("json-store", "JSON, `store: true`", {"model": "short", "input": QUESTION, "store": True}, 40),
    Load("json", "JSON, `store: false`, executor path", {"model": "short", "input": QUESTION, **EXECUTOR}, 40),
    Load("events-store", "200 events, `store: true`", {"model": "long", "input": QUESTION, "stream": True, "store": True}, 8),
    Load("events", "200 events, `store: false`, executor path", {"model": "long", "input": QUESTION, "stream": True, **EXECUTOR}, 8),
]
TITLES = {"upstream": "the model alone", "mayfly": "Mayfly", "agentic": "agentic-api 0.9.0"}


class Figures:
    def __init__(self, data):
        self.rows = {(r["load"], r["server"]): r for r in data["rows"]}
        self.idle = data["idleRssKb"]

    def get(self, load, server, key):
        return self.rows.get((load, server), {}).get(key)

    def added(self, load, server, key):
        """What the gateway adds to the model's own time."""
        with_it, without = self.get(load, server, key), self.get(load, "upstream", key)
        return with_it - without if with_it is not None and without is not None else None

    def per_event(self, load, server, key):
        row = self.rows.get((load, server))
        return row[key] / row["events"] if row and row["events"] else None


def ratio(compute):
    def of(figures):
        ours, theirs = compute(figures, "mayfly"), compute(figures, "agentic")
        return ours / theirs if ours is not None and theirs else None
    return of


def claims():
    """(what, how it is computed, target)"""
    rows = []
    for load in LOADS[:2]:
        for key, words in (("cpuUs", ""), ("crowdCpuUs", ", 8 at once")):
            rows.append((f"processor time a request: {load.title}{words}",
                         ratio(lambda f, s, i=load.id, k=key: f.get(i, s, k)), 0.4))
    for load in LOADS[2:]:
        for key, words in (("cpuUs", ""), ("crowdCpuUs", ", 8 at once")):
            rows.append((f"processor time an event: {load.title}{words}",
                         ratio(lambda f, s, i=load.id, k=key: f.per_event(i, s, k)), 0.35))
    for load in LOADS:
        rows.append((f"p50 over the model's own: {load.title}", ratio(lambda f, s, i=load.id: f.added(i, s, "p50Ms")), 0.5))
    rows.append(("idle memory (RSS)", ratio(lambda f, s: f.idle.get(s)), 0.5))
    return rows


def judged(data):
    """Rows of (what, measured or None, target as text, True, False or None)."""
    figures = Figures(data)
    rows = []
    for what, compute, target in claims():
        value = compute(figures)
        rows.append((what, None if value is None else f"{value:.2f}×", f"≤ {target:g}×", None if value is None else value <= target))
    return rows


HEADINGS = ["server", "p50 ms", "p99 ms", "added p50", "added p99", "CPU µs a request", "8 at once", "CPU µs an event", "8 at once"]


def table(data, load):
    figures = Figures(data)
    cells = []

    def cell(x):
        return "–" if x is None else number(x)

    for server, title in TITLES.items():
        if (load, server) not in figures.rows:
            continue
        is_gateway = server != "upstream"
        cells.append([title] + [cell(x) for x in (
            figures.get(load, server, "p50Ms"), figures.get(load, server, "p99Ms"),
            figures.added(load, server, "p50Ms") if is_gateway else None, figures.added(load, server, "p99Ms") if is_gateway else None,
            figures.get(load, server, "cpuUs"), figures.get(load, server, "crowdCpuUs"),
            figures.per_event(load, server, "cpuUs"), figures.per_event(load, server, "crowdCpuUs"))])
    return cells


def idle_words(data):
    idle = data["idleRssKb"]
    return ", ".join(f"{TITLES[s]} {idle[s] / 1024:.1f} MiB" for s in TITLES if s != "upstream" and s in idle)


def as_text(data):
    """For a terminal."""
    out = []
    for load in LOADS:
        cells = table(data, load.id)
        if not cells:
            continue
        widths = [max(len(row[i]) for row in [HEADINGS] + cells) for i in range(len(HEADINGS))]
        out.append(load.title.replace("`", ""))
        for row in [HEADINGS] + cells:
            out.append("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
        out.append("")
    out.append("idle: " + idle_words(data) + "\n")
    rows = [r for r in judged(data) if r[1] is not None]
    width = max((len(r[0]) for r in rows), default=0)
    for what, measured, target, reached in rows:
        out.append(f"{what.replace('`', ''):{width}}  {measured:>8}  {target:>8}  {'yes' if reached else 'NO'}")
    return "\n".join(out)
