# Searches its memory for data of the task before it.
# first: leave-traces
from esc import *

pattern = re.compile(rb"mf-trace-[0-9a-f]{32}")
total = 0
with open("/proc/self/maps") as f:
    maps = [line.split() for line in f]
with open("/proc/self/mem", "rb", buffering=0) as mem:
    for fields in maps:
        if "r" not in fields[1] or (len(fields) > 5 and fields[5].startswith("[v")):
            continue
        begin, end = (int(x, 16) for x in fields[0].split("-"))
        for at in range(begin, end, 1 << 22):
            try:
                mem.seek(at)
                data = mem.read(min(1 << 22, end - at))
            except (OSError, ValueError, OverflowError):
                break
            total += len(data)
            if pattern.search(data):
                escaped("memory of the task before", fields)
contained("search of memory", "%d bytes without it" % total)
