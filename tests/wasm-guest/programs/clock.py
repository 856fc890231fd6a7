"""Clocks go forward, sleeping takes time, and waiting is no work."""
import datetime
import os
import select
import time

assert time.time() > 1_767_225_600, "the clock stands where the snapshot was made"
assert abs(datetime.datetime.now().timestamp() - time.time()) < 60
for clock in (time.monotonic_ns, time.perf_counter_ns, time.time_ns, time.process_time_ns):
    a = clock()
    sum(range(2_000_000))
    assert clock() > a, clock
began, work = time.monotonic(), time.process_time()
time.sleep(0.25)
assert time.monotonic() - began >= 0.25 and time.process_time() - work < 0.2
assert 0 < os.times().user < 60 and os.times().elapsed > 0
began = time.monotonic()
assert select.select([], [], [], 0.05) == ([], [], []) and time.monotonic() - began >= 0.05
try:
    time.sleep(-1)
except ValueError as e:
    print(e)
print(time.localtime(0)[:6], time.tzname, time.gmtime(10**9)[:3], time.strftime("%Y-%m-%d", time.gmtime(0)))
