# Clocks and chance, asked for what there is not.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"fuel": 100000000000, "wallMs": 120000}, "stdout": {"contains": ["end\n"], "notContains": ["ESCAPED"]}, "stderr": "", "artifactsOther": true, "rejected": {}}
import os
import random
import secrets
import time
import uuid

for clock in (-1, 0, 1, 2, 3, 4, 5, 7, 11, 100, 2 ** 31 - 1, -2 ** 31):
    for what in (time.clock_gettime, time.clock_getres):
        try:
            what(clock)
        except (OSError, OverflowError, ValueError):
            pass
for seconds in (-1, -1e300, 1e300, float("nan"), float("inf"), -0.0, 2 ** 63, -2 ** 63, 0, 1e-9):
    if not isinstance(seconds, float) or seconds != seconds or seconds < 1 or seconds > 1e200:
        try:
            time.sleep(seconds) if not (isinstance(seconds, int) and seconds > 10) else time.sleep(-1)
        except (OSError, OverflowError, ValueError):
            pass
for n in (-1, 0, 1, 255, 65536, 1 << 24):
    try:
        assert len(os.urandom(n)) == n
    except ValueError:
        assert n < 0
for n in (1 << 30, (1 << 31) - 100, 1 << 31, 1 << 40):
    try:
        os.urandom(n)
        print("ESCAPED", n)
    except (MemoryError, OverflowError, OSError):
        pass
assert len({os.urandom(16) for _ in range(1000)}) == 1000 and len({secrets.token_hex(8) for _ in range(1000)}) == 1000
assert len({uuid.uuid4() for _ in range(1000)}) == 1000 and len({random.random() for _ in range(1000)}) > 990
assert time.process_time_ns() > 0 and time.thread_time_ns() > 0 and time.clock_gettime_ns(time.CLOCK_REALTIME) > 1.7e18
assert time.clock_getres(time.CLOCK_MONOTONIC) > 0
t = [time.monotonic_ns() for _ in range(10000)]
assert t == sorted(t)
assert time.time() > 1.7e9
for stamp in (2 ** 31, 2 ** 33, -2 ** 33, 2 ** 53, 2 ** 62, -2 ** 62):
    for what in (time.gmtime, time.localtime, time.ctime):
        try:
            what(stamp)
        except (OSError, OverflowError, ValueError):
            pass
print("end")
