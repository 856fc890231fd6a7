import bisect
import collections
import csv
import heapq
import io
import itertools
import re
import statistics
import textwrap

print(statistics.mean([1, 2, 4]), statistics.median([3, 1, 2]), round(statistics.stdev([1, 2, 4]), 4))
print(collections.Counter("banana").most_common(2), list(itertools.pairwise("abc")))
print(heapq.nsmallest(2, [5, 1, 4]), bisect.bisect([1, 3, 5], 4), re.findall(r"(?P<w>\w+)@", "a@ bc@"))
out = io.StringIO()
csv.writer(out).writerows([["a", 'q"x'], [1, "l\nm"]])
print(repr(out.getvalue()), textwrap.shorten("one two three", 9))
