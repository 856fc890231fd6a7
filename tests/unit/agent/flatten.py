#!/usr/bin/env python3
"""Recorded dialogues (YAML) as flat files: flatten.py FOLDER OUT

OUT/index.txt has a line for each upstream or gateway response: its dialogue's number, "gateway" or "upstream", "sse" or
"json", "recorded" (group C) or "other", its file, and where it comes from. Exit code 77, with the reason: cannot be done.
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


def text_of(response):
    """The text of a response and its kind; None when it has none that is a Responses stream or body."""
    if isinstance(response.get("sse"), list):
        lines = response["sse"]
        return "sse", "".join(line if line.endswith("\n") else line + "\n" for line in lines)
    body = response.get("body")
    if isinstance(body, dict):
        return ("json", json.dumps(body)) if body.get("object") == "response" else None
    if isinstance(body, str):
        try:
            parsed = json.loads(body)
            return ("json", body) if isinstance(parsed, dict) and parsed.get("object") == "response" else None
        except ValueError:
            return ("sse", body) if "data:" in body else None
    return None


def main():
    folder, out = sys.argv[1:3]
    if not os.path.isdir(folder):
        print("no recorded dialogues here")
        sys.exit(77)
    count = number = 0
    with open(os.path.join(out, "index.txt"), "w") as index:
        def emit(turn, role, group, response, where):
            nonlocal count
            flat = text_of(response) if isinstance(response, dict) else None
            if flat is None:
                return
            name = f"{count:04}.{flat[0]}"
            with open(os.path.join(out, name), "w", newline="") as file:
                file.write(flat[1])
            index.write(f"{turn} {role} {flat[0]} {group} {name} {where}\n")
            count += 1

        for path, folders, files in os.walk(folder):
            folders.sort()
            for name in sorted(files):
                if not name.endswith(".yaml"):
                    continue
                with open(os.path.join(path, name)) as file:
                    doc = yaml.load(file, LOADER)
                where = os.path.relpath(os.path.join(path, name), folder)
                group = "recorded" if where.startswith("recorded-") else "other"
                turns = doc.get("turns") or []
                if isinstance(doc.get("sse"), list):
                    turns = [{"response": doc}]
                # The frames of a WebSocket belong to several responses; what was sent upstream for them is plain.
                for call in doc.get("upstream") or []:
                    number += 1
                    emit(number, "upstream", group, call.get("response"), where)
                for turn in turns:
                    number += 1
                    emit(number, "gateway", group, turn.get("response"), where)
                    for call in turn.get("upstream") or []:
                        emit(number, "upstream", group, call.get("response"), where)
    print(f"{count} responses of {number} dialogues")


main()
