import json
import re


class Point:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


counts = {}
for i in range(200_000):
    key = "k%d" % (i % 5000)
    counts[key] = counts.get(key, 0) + i
text = json.dumps(counts)
words = len(re.findall(r"k1\d+", text)) + len(json.loads(text))
longest = max(sorted(str(v) for v in counts.values()), key=len)
print(words, longest, sum(p.x for p in [Point(i) for i in range(200_000)]))
