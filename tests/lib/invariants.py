"""What holds of every reply of the gateway, whoever asks. The numbers are those of docs/compatibility.md, "Invariants".

Each function returns a list of sentences; an empty one is a pass.
"""
import json

TERMINAL = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
TEXT_FIELDS = ("text", "arguments", "code", "input", "refusal", "command")
LIFE_OF_INTERPRETER = ["response.output_item.added", "response.code_interpreter_call.in_progress",
                       "response.code_interpreter_call_code.delta", "response.code_interpreter_call_code.done",
                       "response.code_interpreter_call.interpreting", "response.code_interpreter_call.completed",
                       "response.output_item.done"]
REQUIRED = {
    "message": ("id", "role", "status", "content"),
    "reasoning": ("id", "summary"),
    "function_call": ("id", "call_id", "name", "arguments", "status"),
    "custom_tool_call": ("id", "call_id", "name", "input"),
    "code_interpreter_call": ("id", "container_id", "code", "status", "outputs"),
}


class Stream:
    """The events of a text/event-stream, and what is wrong with its form (3)."""

    def __init__(self, text):
        self.events, self.problems, self.is_done = [], [], False
        frames = text.split("\n\n")
        if frames.pop() != "":
            self.problems.append("3: the stream ends inside a frame")
        for frame in frames:
            lines = [line for line in frame.split("\n") if not line.startswith(":")]
            if lines:
                self._frame(lines)
        if not self.is_done:
            self.problems.append("3: no [DONE]")

    def _frame(self, lines):
        if self.is_done:
            self.problems.append("3: a frame after [DONE]: %r" % lines)
        elif lines == ["data: [DONE]"]:
            self.is_done = True
        elif len(lines) != 2 or not lines[0].startswith("event: ") or not lines[1].startswith("data: "):
            self.problems.append("3: not an event line and a data line: %r" % lines)
        else:
            event = json.loads(lines[1][6:])
            self.events.append(event)
            if lines[0][7:] != event.get("type"):
                self.problems.append("3: event %r holds a %r" % (lines[0][7:], event.get("type")))


class _Item:
    def __init__(self, item, index):
        self.opening, self.index = item, index
        self.done = None
        self.types, self.deltas, self.texts = [], {}, {}


def _texts_of(item):
    """The text that an item says is in each of its parts, by kind of event and part."""
    kind = item.get("type")
    if kind == "message":
        for at, part in enumerate(item.get("content") or []):
            name = "refusal" if part.get("type") == "refusal" else "output_text"
            yield ("response." + name, at), part.get("text", part.get("refusal"))
    elif kind == "reasoning":
        for at, part in enumerate(item.get("content") or []):
            yield ("response.reasoning_text", at), part.get("text")
        for at, part in enumerate(item.get("summary") or []):
            yield ("response.reasoning_summary_text", at), part.get("text")
    elif kind == "function_call":
        yield ("response.function_call_arguments", None), item.get("arguments")
    elif kind == "custom_tool_call":
        yield ("response.custom_tool_call_input", None), item.get("input")
    elif kind == "code_interpreter_call":
        yield ("response.code_interpreter_call_code", None), item.get("code")


def item(value, where="item"):
    """19: the fields that every item of its type has."""
    problems = []
    for key in REQUIRED.get(value.get("type"), ()):
        if key not in value:
            problems.append("19: %s: a %s without %s" % (where, value.get("type"), key))
    if value.get("type") == "message":
        if not isinstance(value.get("content"), list) or not all(isinstance(p, dict) for p in value["content"]):
            return problems + ["19: %s: the content of a message is %r" % (where, value.get("content"))]
        for part in value["content"]:
            if part.get("type") == "output_text" and not ("text" in part and isinstance(part.get("annotations"), list)):
                problems.append("19: %s: output_text without text or annotations: %r" % (where, part))
    return problems


def response(value):
    """A whole response object: the JSON reply, the terminal event's, or what GET returns."""
    problems = []
    if not str(value.get("id", "")).startswith("resp_") or value.get("object") != "response":
        problems.append("8: id %r, object %r" % (value.get("id"), value.get("object")))
    if value.get("status") not in ("completed", "incomplete", "failed", "cancelled"):
        problems.append("2: status %r" % value.get("status"))
    if (value.get("status") == "failed") != (value.get("error") is not None):
        problems.append("2: status %r with error %r" % (value.get("status"), value.get("error")))
    if value.get("status") != "incomplete" and value.get("incomplete_details") is not None:
        problems.append("2: status %r with incomplete_details %r" % (value.get("status"), value.get("incomplete_details")))
    ids = [i.get("id") for i in value["output"]]
    if len(set(ids)) != len(ids):
        problems.append("4: one id for two items: %r" % ids)
    for at, one in enumerate(value["output"]):
        problems += item(one, "output[%d]" % at)
    return problems


def _interpreter(i):
    """12: the seven events of a call that the gateway ran."""
    problems = []
    if i.types != LIFE_OF_INTERPRETER:
        problems.append("12: the events of %s: %r" % (i.opening.get("id"), i.types))
    if i.opening.get("code") != "" or i.opening.get("outputs", 0) is not None or i.opening.get("status") != "in_progress":
        problems.append("12: the opening item: %r" % i.opening)
    if i.done is not None and not isinstance(i.done.get("outputs"), list):
        problems.append("12: the done item's outputs: %r" % i.done.get("outputs"))
    suffixes = {str(i.opening.get(k)).split("_", 1)[-1] for k in ("id", "container_id")}
    if len(suffixes) != 1:
        problems.append("12: id %r, container_id %r" % (i.opening.get("id"), i.opening.get("container_id")))
    return problems


def _lifecycle(events):
    """1, 2 and 8."""
    types, problems = [e.get("type") for e in events], []
    numbers = [e.get("sequence_number") for e in events]
    if numbers != list(range(len(events))):
        problems.append("1: sequence numbers %r" % numbers)
    if types[0] != "error" and types[:2] != ["response.created", "response.in_progress"]:
        problems.append("2: it begins with %r" % types[:2])
    for name in ("response.created", "response.in_progress"):
        if types.count(name) > 1:
            problems.append("2: %s comes %d times" % (name, types.count(name)))
    ends = [t for t in types if t in TERMINAL or t == "error"]
    if len(ends) != 1 or types[-1] != ends[0]:
        problems.append("2: terminal events %r, the last event is %r" % (ends, types[-1]))
    ids = {e["response"].get("id") for e in events if isinstance(e.get("response"), dict)}
    if len(ids) > 1:
        problems.append("8: response ids %r" % ids)
    for e in events[:2]:
        if e.get("type") in ("response.created", "response.in_progress") and e["response"].get("status") not in ("queued", "in_progress"):
            problems.append("2: %s with status %r" % (e["type"], e["response"].get("status")))
    return problems


def _walk(events, problems):
    """4, 5 and 7; returns the items in the order of their indexes."""
    items = []
    for e in events:
        index, kind = e.get("output_index"), e.get("type", "")
        if index is None:
            continue
        if kind == "response.output_item.added":
            if index != len(items):
                problems.append("4: output_index %r opens, not %d" % (index, len(items)))
            items.append(_Item(e["item"], index))
            if sum(1 for i in items if i.opening.get("id") == e["item"].get("id")) > 1:
                problems.append("4: %r opens twice" % e["item"].get("id"))
        known = next((i for i in items if i.index == index), None)
        if known is None or known.done is not None:
            problems.append("5: %s at output_index %r, which is not open" % (kind, index))
            continue
        known.types.append(kind)
        if kind == "response.output_item.done":
            known.done = e["item"]
            if [known.done.get(k) for k in ("id", "type")] != [known.opening.get(k) for k in ("id", "type")]:
                problems.append("4: %r opened, %r done" % (known.opening, known.done))
        elif kind != "response.output_item.added":
            if e.get("item_id") != known.opening.get("id"):
                problems.append("5: %s has item_id %r, not %r" % (kind, e.get("item_id"), known.opening.get("id")))
            _text(e, kind, known, problems)
    return items


def _text(e, kind, known, problems):
    base, _, what = kind.rpartition(".")
    key = (base, next((e[k] for k in ("content_index", "summary_index", "command_index") if k in e), None))
    if what == "delta" and isinstance(e.get("delta"), str):
        known.deltas[key] = known.deltas.get(key, "") + e["delta"]
    field = next((f for f in TEXT_FIELDS if isinstance(e.get(f), str)), None)
    if what == "done" and field and base != "response.content_part":
        known.texts[key] = e[field]
        if key in known.deltas and known.deltas[key] != e[field]:
            problems.append("7: deltas %r, done %r" % (known.deltas[key], e[field]))


def stream(text, gateway_tools=(), native=False):
    """A whole stream as text. gateway_tools: names that the gateway executes (9). native: interpreter calls come from
    upstream, so 12 does not apply to them."""
    parsed = Stream(text)
    problems, events = parsed.problems, parsed.events
    if not events:
        return problems + ["2: no events"]
    problems += _lifecycle(events)
    items = _walk(events, problems)
    for i in items:
        problems += _item_of_stream(i, gateway_tools, native, events[-1])
    if events[-1]["type"] in TERMINAL:
        final = events[-1]["response"]
        problems += response(final)
        if final.get("status") != TERMINAL[events[-1]["type"]]:
            problems.append("2: %s with status %r" % (events[-1]["type"], final.get("status")))
        done = [_without_nulls(i.done) for i in items if i.done is not None]
        if done != _without_nulls(final["output"]):
            problems.append("6: done items %s, output %s" % (json.dumps(done), json.dumps(final["output"])))
    return problems


def _without_nulls(value):
    """A value without members that say nothing."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None and v != []}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value


def _item_of_stream(i, gateway_tools, native, last):
    problems = []
    if i.done is None:
        # A failure may come while an item is open.
        return [] if last["type"] in ("error", "response.failed") else ["4: %r is never done" % i.opening]
    problems += item(i.done, "output_item.done")
    texts = dict(_texts_of(i.done))
    for key, text in list(i.deltas.items()) + list(i.texts.items()):
        if key in texts and texts[key] != text:
            problems.append("7: %s: events say %r, the done item %r" % (key, text, texts[key]))
    if i.done.get("type") == "function_call" and i.done.get("name") in gateway_tools:
        problems.append("9: a function_call of %s" % i.done.get("name"))
    if i.done.get("type") == "code_interpreter_call" and not native:
        problems += _interpreter(i)
    return problems


def usage(final, upstream):
    """10: final: the response; upstream: the usage objects of its rounds, or None where a round had none."""
    rounds = [u for u in upstream if u]
    mine = final.get("usage")
    if not rounds or mine is None:
        return [] if mine is None and not rounds else ["10: usage %r of rounds %r" % (mine, rounds)]
    problems = []
    for path in (("input_tokens",), ("output_tokens",), ("total_tokens",), ("input_tokens_details", "cached_tokens"),
                 ("output_tokens_details", "reasoning_tokens")):
        total = sum(_at(u, path) for u in rounds)
        if _at(mine, path) != total:
            problems.append("10: %s is %r, not %d" % (".".join(path), _at(mine, path), total))
    return problems


def _at(value, path):
    for key in path:
        value = (value or {}).get(key)
    return value or 0


def asked(body, gateway_items=()):
    """15 and 16: a request as upstream received it. gateway_items: ids of public items that the gateway made."""
    problems = []
    for key in ("store", "previous_response_id", "conversation", "conversation_id", "context_management", "multi_agent"):
        if key in body:
            problems.append("16: %s went upstream" % key)
    for tool in body.get("tools") or []:
        if tool.get("type") != "function" or set(tool) != {"type", "name", "description", "parameters", "strict"}:
            problems.append("16: a tool upstream: %r" % tool)
    items = body.get("input")
    if not isinstance(items, list):
        return problems + ["15: input is %r" % items]
    calls, outputs = [], []
    for one in items:
        if one.get("id") in gateway_items and one.get("id") is not None:
            problems.append("15: a public item of the gateway went upstream: %r" % one)
        if one.get("type") == "function_call":
            calls.append(one.get("call_id"))
        elif one.get("type") == "function_call_output":
            outputs.append(one.get("call_id"))
    for name, ids in (("call", calls), ("output", outputs)):
        if len(set(ids)) != len(ids):
            problems.append("15: a %s comes twice: %r" % (name, ids))
    if calls and set(calls) != set(outputs):
        problems.append("15: calls %r, outputs %r" % (calls, outputs))
    return problems
