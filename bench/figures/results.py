"""Results files: readable in a diff, one line a row."""
import json
import os
import subprocess


def commit(top):
    try:
        out = subprocess.run(["git", "-C", top, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
        return out.stdout.strip() or None
    except OSError:
        return None


def write(figures, path):
    rest = {k: v for k, v in figures.items() if k != "rows"}
    lines = ",\n".join("  " + json.dumps(r, ensure_ascii=False) for r in figures["rows"])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(json.dumps(rest, indent=1, ensure_ascii=False)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n")
    os.replace(path + ".new", path)
