# memory: 64
"""The least that a program can be given is enough for an ordinary one."""
import asyncio
import collections
import datetime
import decimal
import json
import re
import statistics

data = [{"n": i, "text": f"row {i}"} for i in range(10_000)]
assert json.loads(json.dumps(data)) == data
assert re.findall(r"row (\d+)5\b", " ".join(d["text"] for d in data))[0] == "1"
print(statistics.mean(d["n"] for d in data), collections.Counter("mayfly")["y"], decimal.Decimal(1) / 3,
      datetime.date(2026, 1, 1).isoformat(), asyncio.run(asyncio.sleep(0, "done")))
