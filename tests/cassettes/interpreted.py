"""Recorded dialogues with the interpreter in the place of the web search: what they show of rounds, of the order of events and
of what upstream is asked holds for every tool that the gateway executes. A query becomes a program that prints it."""
import copy
import json

import invariants
import recordings

DECLARED = {"type": "code_interpreter", "container": {"type": "auto"}}
FUNCTION = {"type": "function", "name": "code_interpreter", "description": "<description>", "strict": True, "parameters": {
    "type": "object", "properties": {"code": {"type": "string", "description": "<description>"}}, "required": ["code"],
    "additionalProperties": False}}
BAD = "code_interpreter arguments must be valid JSON"


def _code(query):
    return "print(%r)" % query


def _arguments(text):
    """A call's arguments; those that are no JSON, and those that have not begun, stay."""
    try:
        return json.dumps({"code": _code(json.loads(text)["query"])})
    except ValueError:
        return text


def _output(text):
    value = json.loads(text)
    if "error" in value:
        return '{"error":"%s"}' % BAD
    return json.dumps({"status": "completed", "stdout": value["query"] + "\n", "stderr": ""}, separators=(",", ":"))


def _item(item):
    suffix, query, status = item["id"][3:], item["action"]["query"], item["status"]
    outputs = {"in_progress": None, "completed": [{"type": "logs", "logs": query + "\n"}],
               "failed": [{"type": "logs", "logs": "Code execution failed."}]}[status]
    return {"type": "code_interpreter_call", "id": "ci_" + suffix, "container_id": "cntr_" + suffix,
            "code": _code(query) if status == "completed" else "", "status": status, "outputs": outputs}


def value(v):
    """A request, a reply or an item."""
    if isinstance(v, list):
        return [value(e) for e in v]
    if not isinstance(v, dict):
        return v
    kind = v.get("type")
    if kind == "web_search":
        return copy.deepcopy(DECLARED)
    if kind == "function" and v.get("name") == "web_search":
        return copy.deepcopy(FUNCTION)
    if kind == "function_call" and v.get("name") == "web_search":
        return dict(v, name="code_interpreter", arguments=_arguments(v["arguments"]))
    if kind == "function_call_output" and v["output"].startswith(('{"query"', '{"error":"web_search')):
        return dict(v, output=_output(v["output"]))
    if kind == "web_search_call":
        return _item(v)
    return {k: value(e) for k, e in v.items()}


def _events_of_call(event, code):
    """A step of a web search as the steps of a run."""
    step = event["type"].rpartition(".")[2]
    place = {"output_index": event["output_index"], "item_id": "ci_" + event["item_id"][3:]}
    name = "response.code_interpreter_call"
    if step != "searching":
        return [dict(place, type="%s.%s" % (name, step))]
    return [dict(place, type=name + "_code.delta", delta=code), dict(place, type=name + "_code.done", code=code),
            dict(place, type=name + ".interpreting")]


def sse(text):
    events = invariants.Stream(text).events
    done = {e["item"]["id"]: value(e["item"]) for e in events if e.get("type") == "response.output_item.done"}
    out, told = [], set()
    for e in events:
        item = done.get(e.get("item_id"), {})
        if e["type"].startswith("response.web_search_call."):
            out += _events_of_call(e, item["code"])
        elif e["type"].startswith("response.function_call_arguments.") and item.get("name") == "code_interpreter":
            field = "delta" if e["type"].endswith(".delta") else "arguments"
            if (e["item_id"], field) not in told:
                out.append(dict(value(e), **{field: item["arguments"]}, **({} if field == "delta" else {"name": item["name"]})))
            told.add((e["item_id"], field))
        else:
            out.append(value(e))
    return recordings.framed(out)


def _message(m):
    out = copy.copy(m)
    if m.sse is not None:
        out.sse = sse(m.sse)
    else:
        out.body = value(m.body)
    return out


def _turn(turn):
    out = copy.copy(turn)
    out.request = dict(turn.request, body=value(turn.request["body"]))
    out.reply = _message(turn.reply)
    out.upstream = [(dict(q, body=value(q["body"])), _message(m)) for q, m in turn.upstream]
    return out


def _searches(turn):
    """A turn that can be told with the interpreter: a search is declared and upstream was asked, or it goes on from one."""
    body = turn.request.get("body")
    if not isinstance(body, dict) or not turn.upstream:
        return False
    return {"type": "web_search"} in (body.get("tools") or []) or "web_search" in json.dumps(turn.upstream[0][0]["body"])


def of(some):
    """The recordings of a list in which the gateway searches, told with the interpreter."""
    found = []
    for r in some:
        turns = [_turn(t) for t in r.turns if _searches(t)]
        if turns:
            told = copy.copy(r)
            told.name, told.turns = "interpreted/" + r.name, turns
            found.append(told)
    return found
