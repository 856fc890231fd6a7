"""Looks at what the gateway sent through the types of `openai` itself, strictly: nothing missing, nothing of another type,
no unknown event, no member that the types do not know. (The client alone is lenient: it would pass on whatever came.)"""
import json
import typing

import pydantic
from openai.types import responses as types

# Members that the published types lack, and that are there on purpose: the API itself sends the first three; `conversation_id` is
# in every response of the system that Mayfly can replace; `name` of a function's arguments passes through as upstream sends it.
KNOWN_EXTRAS = {"Response.store", "Response.frequency_penalty", "Response.presence_penalty", "Response.conversation_id",
                "ResponseFunctionCallArgumentsDoneEvent.name"}


def _members(union):
    """{the literal of `type`: class} of a union of models."""
    found = {}
    for member in typing.get_args(typing.get_args(union)[0]):
        for literal in typing.get_args(member.model_fields["type"].annotation):
            found[literal] = member
    return found


EVENTS = _members(types.ResponseStreamEvent)


def _extras(value, path, found):
    if isinstance(value, pydantic.BaseModel):
        for name in value.model_extra or {}:
            if "%s.%s" % (type(value).__name__, name) not in KNOWN_EXTRAS:
                found.append("%s.%s is no member of %s" % (path, name, type(value).__name__))
        for name in type(value).model_fields:
            _extras(getattr(value, name), path + "." + name, found)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            _extras(v, "%s[%d]" % (path, i), found)
    return found


def check(model, value, path):
    """What is wrong with a JSON value that should be a `model`."""
    try:
        parsed = pydantic.TypeAdapter(model).validate_json(json.dumps(value), strict=True)
    except pydantic.ValidationError as e:
        return ["%s: %s: %s (%s)" % (path, ".".join(map(str, x["loc"])), x["msg"], x["type"]) for x in e.errors()[:6]]
    return _extras(parsed, path, [])


def event(value):
    kind = value.get("type")
    if kind == "error" and isinstance(value.get("error"), dict):
        return []  # the nested form, which every client takes, but no type describes
    if kind not in EVENTS:
        return ["unknown event %s" % kind]
    return check(EVENTS[kind], value, kind)


def events(values):
    problems = []
    for value in values:
        problems += event(value)
    return problems[:12]


def response(value):
    return check(types.Response, value, "response")


def items(page):
    """A page of input_items."""
    return check(types.ResponseItemList, page, "page")
