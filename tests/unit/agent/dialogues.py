#!/usr/bin/env python3
"""Recorded turns with what was sent upstream, as one JSON text: dialogues.py FOLDER

[{"where", "turns": [{"request", "status", "response", "error", "upstream": [body, …]}]}]; a response is that of the
terminal event where it was streamed, or null. A file that goes on from another comes after it. Exit code 77, with the reason: cannot be done.
"""
import json
import os
import sys

try:
    import yaml
except ImportError:
    print("no PyYAML here")
    sys.exit(77)

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TERMINAL = ("response.completed", "response.incomplete")


def response_of(response):
    body = response.get("body")
    if isinstance(body, dict):
        return body if body.get("object") == "response" else None
    found = None
    for line in "".join(piece if piece.endswith("\n") else piece + "\n" for piece in response.get("sse") or []).split("\n"):
        if line.startswith("data: {"):
            event = json.loads(line[6:])
            if event.get("type") in TERMINAL:
                found = event["response"]
    return found


def is_sequel(dialogue):
    """Goes on from a response of another file."""
    own = {turn["response"]["id"] for turn in dialogue["turns"] if turn["response"]}
    return any(turn["request"].get("previous_response_id") not in own | {None} for turn in dialogue["turns"])


def main():
    folder = os.path.join(sys.argv[1], "recorded-0.9.0")
    if not os.path.isdir(folder):
        print("no recorded dialogues here")
        sys.exit(77)
    dialogues = []
    for path, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if not name.endswith(".yaml"):
                continue
            with open(os.path.join(path, name)) as file:
                doc = yaml.load(file, LOADER)
            turns = []
            for turn in doc.get("turns") or []:
                request = turn["request"]
                if request["method"] != "POST" or request["path"] != "/v1/responses":
                    continue
                if not isinstance(request.get("body"), dict):
                    continue
                turns.append({
                    "request": request["body"],
                    "status": turn["response"]["status_code"],
                    "response": response_of(turn["response"]),
                    "error": (turn["response"].get("body") or {}).get("error")
                    if isinstance(turn["response"].get("body"), dict) else None,
                    "upstream": [call["request"].get("body") for call in turn.get("upstream") or []],
                })
            if turns:
                dialogues.append({"where": os.path.relpath(os.path.join(path, name), folder), "turns": turns})
    json.dump(sorted(dialogues, key=is_sequel), sys.stdout)


main()
