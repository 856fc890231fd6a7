"""The job inside a plain interpreter that has everything imported already: what the work itself costs, with no sandbox and no
new process. The source is compiled anew each time, as a sandbox must. Speaks the lines of driver/answer.h."""
import contextlib
import io
import json
import sys
import time

sys.path.append(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as f:
    SOURCE = f.read()


def once():
    out = io.StringIO()
    begin = time.perf_counter()
    with contextlib.redirect_stdout(out):
        exec(compile(SOURCE, "main.py", "exec"), {"__name__": "__main__"})
    return {"ms": (time.perf_counter() - begin) * 1e3, "out": out.getvalue()}


for _ in range(20):  # as warm as it gets
    once()
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    print(json.dumps(once() if line.strip() == "once" else {"error": "expected: once"}), flush=True)
