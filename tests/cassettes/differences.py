"""What differs between a recorded exchange and ours: a list of places with the value there and here.

Equal is: the same JSON value, where an id that the gateway made may have another value if it has it everywhere, a
timestamp any value, and a text that stands for a text of the gateway (`<description>`) any text.
"""
import difflib
import json
import re

import invariants

ABSENT = type("Absent", (), {"__repr__": lambda self: "absent"})()
HEADERS = ("content-type", "cache-control", "x-accel-buffering", "www-authenticate", "allow", "retry-after", "vary",
           "access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers")
TIMES = ("created_at", "completed_at", "created")
PLACEHOLDER = re.compile(r"<[a-z ]+>")
MADE_ID = re.compile(r"([a-z]+_)[0-9a-f-]{20,}")  # an id with a UUID, as the gateway makes them


class Ids:
    """Ids of the recording and ours, one to one, over all turns that know each other."""

    def __init__(self):
        self.ours, self.theirs = {}, {}

    def same(self, there, here):
        if there == here:
            return True
        if there in self.ours or here in self.theirs:
            return self.ours.get(there) == here
        a, b = MADE_ID.fullmatch(there), MADE_ID.fullmatch(here)
        if not a or not b or a.group(1) != b.group(1):
            return False
        self.ours[there], self.theirs[here] = here, there
        return True

    def renamed(self, value):
        """A recorded request with our ids in place of theirs."""
        if isinstance(value, dict):
            return {k: self.renamed(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.renamed(v) for v in value]
        if isinstance(value, str):
            for there, here in self.ours.items():
                if there in value:
                    value = value.replace(there, here)
        return value


class Difference:
    def __init__(self, where, there, here):
        self.where, self.there, self.here = where, there, here

    def __str__(self):
        return "%s: there %s, here %s" % (self.where, shown(self.there), shown(self.here))


def shown(value):
    return "absent" if value is ABSENT else json.dumps(value, ensure_ascii=False)


def values(there, here, where, ids, out, key=None):
    """Appends to out where two JSON values differ."""
    if isinstance(there, dict) and isinstance(here, dict):
        for k in list(there) + [k for k in here if k not in there]:
            a, b = there.get(k, ABSENT), here.get(k, ABSENT)
            if a is ABSENT or b is ABSENT:
                out.append(Difference("%s.%s" % (where, k), a, b))
            else:
                values(a, b, "%s.%s" % (where, k), ids, out, k)
    elif isinstance(there, list) and isinstance(here, list):
        if len(there) != len(here):
            out.append(Difference(where + ".length", len(there), len(here)))
        for n, (a, b) in enumerate(zip(there, here)):
            values(a, b, "%s[%d]" % (where, n), ids, out, key)
    elif not _same(there, here, ids, key):
        out.append(Difference(where, there, here))


def _same(there, here, ids, key):
    if key in TIMES and all(isinstance(v, int) and not isinstance(v, bool) and v > 0 for v in (there, here)):
        return True
    if isinstance(there, str) and isinstance(here, str):
        is_placeholder = PLACEHOLDER.fullmatch(there) is not None
        return ids.same(there, here) or (is_placeholder and here != "") or ids.renamed(there) == here
    return type(there) in (type(here), int, float) and type(here) in (type(there), int, float) and there == here


def headers(there, here, where, out):
    for name in HEADERS:
        a, b = there.get(name, ABSENT), here.get(name, ABSENT)
        if a != b:
            out.append(Difference("%s.%s" % (where, name), a, b if b is ABSENT else str(b)))


def _name_of(event):
    """What must agree for two events to be the same one."""
    item = event.get("item")
    return (event.get("type"), event.get("output_index"), item.get("type") if isinstance(item, dict) else None)


def events(there, here, ids, out):
    """Two streams as lists of events. sequence_number is left to the invariants."""
    a, b = [_name_of(e) for e in there], [_name_of(e) for e in here]
    for tag, i, j, k, l in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            for x, y in zip(there[i:j], here[k:l]):
                x, y = ({n: v for n, v in e.items() if n != "sequence_number"} for e in (x, y))
                values(x, y, "event." + str(x.get("type")), ids, out)
            continue
        for x in there[i:j]:
            out.append(Difference("event." + str(x.get("type")), "event", ABSENT))
        for y in here[k:l]:
            out.append(Difference("event." + str(y.get("type")), ABSENT, "event"))


def _error_of(body):
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def replies(there, here, ids, out):
    """there: a Message; here: a Reply whose text was already given its recorded model's name."""
    text = here.body.decode()
    is_stream = here.is_stream()
    if there.status != here.status or (there.sse is not None) != is_stream:
        said = text
        if not is_stream and text.startswith("{"):
            error = _error_of(json.loads(text))
            said = "%s %s" % (error.get("code"), error.get("param", "")) if error else ""
        kind = ("%d stream", "%d")[there.sse is None] % there.status
        ours = "%d stream" % here.status if is_stream else ("%d %s" % (here.status, said)).strip()
        out.append(Difference("reply", kind, ours))
        return
    headers(there.headers, {k.lower(): v for k, v in here.headers.items()}, "reply.header", out)
    if is_stream:
        events(invariants.Stream(there.sse).events, invariants.Stream(text).events, ids, out)
        return
    try:
        body = json.loads(text) if text else None
    except ValueError:
        body = text
    is_response = isinstance(there.body, dict) and there.body.get("object") == "response"
    values(there.body, body, "reply.response" if is_response else "reply.body", ids, out)


def upstream(there, here, ids, out):
    """there: the recorded requests; here: those that the scripted model has seen."""
    if len(there) != len(here):
        out.append(Difference("upstream.count", len(there), len(here)))
    for a, b in zip(there, here):
        sent = {k.lower(): v for k, v in b["headers"]}
        values([a["method"], a["path"]], [b["method"], b["path"]], "upstream.target", ids, out)
        values(a.get("body"), b["body"], "upstream.body", ids, out)
        for name, value in a["headers"].items():
            if name == "accept":
                continue
            mine = sent.get(name, ABSENT)
            if value.endswith("***") and mine is not ABSENT and mine.startswith(value[:-3]) and len(mine) >= len(value):
                continue
            if mine != value:
                out.append(Difference("upstream.header." + name, value, mine))
        for name in ("authorization",):
            if name in sent and name not in a["headers"]:
                out.append(Difference("upstream.header." + name, ABSENT, "sent"))
