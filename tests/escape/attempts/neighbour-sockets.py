# Reads in /proc which sockets another task has; the network namespace is what the list is of.
# beside: neighbour
from esc import *

for name in ("unix", "sockstat", "protocols"):
    try:
        text = open("/proc/self/net/" + name).read()
    except OSError as e:
        contained("/proc/self/net/" + name, reason(e))
        continue
    if "neighbour" in text:
        escaped("sockets of the neighbour in " + name, [line for line in text.splitlines() if "neighbour" in line])
    else:
        contained("sockets of the neighbour in " + name, "not in %d lines" % len(text.splitlines()))
