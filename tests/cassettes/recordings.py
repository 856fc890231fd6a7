"""Reads recorded dialogues: YAML files with turns, each with a request, a reply and what was asked upstream."""
import json
import os
import sys

try:
    import yaml
except ImportError:
    # Another interpreter than the system's does not see the system's package, which is plain Python.
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import yaml
    except ImportError:
        yaml = None

HERE = os.path.dirname(os.path.abspath(__file__))


def folder():
    """Where the recordings are, or None."""
    path = os.environ.get("MF_CASSETTES") or os.path.join(HERE, "..", "..", "..", "shared", "cassettes")
    return os.path.abspath(path) if os.path.isdir(path) else None


def gist_of(item):
    """What of an item must not get lost."""
    if not isinstance(item, dict):
        return item
    parts = [p for key in ("summary", "content") for p in item.get(key) or [] if isinstance(p, dict)]
    texts = [p.get("text", p.get("refusal")) for p in parts]
    return [item.get("type"), texts] + [item[k] for k in ("arguments", "input", "code", "name", "call_id") if k in item]


class Message:
    """A reply as it was recorded: status, headers, and either text of events or a body. Our own recordings may have `events`
    (a list of objects) in place of lines, and `round` (in the words of the scripted model) in place of what upstream said."""

    def __init__(self, value):
        self.status = value.get("status_code", 200)
        self.headers = {k.lower(): v for k, v in (value.get("headers") or {}).items()}
        self.own_round = value.get("round")
        self.sse = _joined(value["sse"]) if isinstance(value.get("sse"), list) else None
        if isinstance(value.get("events"), list):
            self.sse = framed(value["events"])
        self.body = value.get("body")
        if self.sse is None and isinstance(self.body, str) and "data:" in self.body:
            self.sse, self.body = self.body, None

    def response(self):
        """The response object that it is or ends with (of a round only its usage); None."""
        if self.own_round is not None:
            return {"usage": _usage(self.own_round["usage"])} if "usage" in self.own_round else None
        if self.sse is None:
            return self.body if isinstance(self.body, dict) and self.body.get("object") == "response" else None
        found = None
        for line in self.sse.splitlines():
            if line.startswith("data:") and line[5:].strip() != "[DONE]":
                try:
                    value = json.loads(line[5:])
                except ValueError:
                    continue
                found = value.get("response", found) if isinstance(value, dict) else found
        return found

    def round(self):
        """It as a round of the scripted model."""
        if self.own_round is not None:
            return self.own_round
        # A WebSocket was opened with 101; as a stream over HTTP it is a 200.
        out = {"status": self.status if self.status >= 200 else 200}
        if self.headers:
            out["headers"] = {k: str(v) for k, v in self.headers.items()
                              if k in ("content-type", "retry-after", "x-request-id")}
        if self.sse is not None:
            out["events"] = [self.sse]
        else:
            out["body"] = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return out


def _usage(u):
    return {"input_tokens": u["input_tokens"], "output_tokens": u["output_tokens"],
            "total_tokens": u["input_tokens"] + u["output_tokens"],
            "input_tokens_details": {"cached_tokens": u.get("cached_tokens", 0)},
            "output_tokens_details": {"reasoning_tokens": u.get("reasoning_tokens", 0)}}


def framed(events):
    """Events as a stream, numbered."""
    frames = ["event: %s\ndata: %s\n\n" % (e["type"], json.dumps(dict(e, sequence_number=n))) for n, e in enumerate(events)]
    return "".join(frames) + "data: [DONE]\n\n"


def _joined(lines):
    """Old recordings have lines or frames without their line ends, and frames of a WebSocket without blank lines."""
    text = "".join(lines)
    if all(line.endswith("\n") for line in lines):
        return text if "\n\n" in text else text.replace("\ndata:", "\n\ndata:") + "\n"
    out = []
    for line in lines:
        out.append(line if line.endswith("\n") else line + "\n")
        if line.startswith("data:") and not line.endswith("\n"):
            out.append("\n")
    return "".join(out)


TO_BE_ASKED = {"method": "POST", "path": "/v1/responses", "headers": {}}


class Turn:
    def __init__(self, value, name):
        self.name = str(value.get("filename", name))
        self.request = value["request"]
        self.reply = Message(value.get("response") or {})  # one that is still to be recorded has none
        self.upstream = [(u.get("request", TO_BE_ASKED), Message(u["response"])) for u in value.get("upstream") or []]

    def body_bytes(self):
        if "raw" in self.request:
            raw = self.request["raw"]
            if raw == "<11 MiB JSON body>":
                raw = json.dumps({"model": "m", "input": "x" * (11 << 20)})
            return raw.encode()
        body = self.request.get("body")
        return None if body is None else json.dumps(body).encode()


class Recording:
    def __init__(self, path, root):
        with open(path, encoding="utf-8") as f:
            self.value = yaml.load(f, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self.name = os.path.relpath(path, root)[: -len(".yaml")]
        self.is_frames = "frames" in self.value or "sessions" in self.value
        self.turns = [] if self.is_frames else [Turn(t, "t%d" % (n + 1))
                                                for n, t in enumerate(self.value.get("turns") or [])]

    def messages(self):
        """Everything in it that could come from upstream: (where, Message)."""
        if isinstance(self.value.get("sse"), list):
            yield "sse", Message(self.value)
        for n, u in enumerate(self.value.get("upstream") or []):
            yield "upstream[%d]" % n, Message(u["response"])
        for turn in self.turns:
            yield turn.name, turn.reply
            for n, (_, reply) in enumerate(turn.upstream):
                yield "%s.upstream[%d]" % (turn.name, n), reply


def read_all(folder_path, root=None):
    """Every recording below a folder, in the order of their names, which are relative to root."""
    found = []
    for path, folders, files in os.walk(folder_path):
        folders.sort()
        found += [os.path.join(path, name) for name in files if name.endswith(".yaml")]
    return [Recording(path, root or folder_path) for path in sorted(found)]
