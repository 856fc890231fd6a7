"""Waiting for somebody who never comes is waiting, not work; signals of the program's own."""
import queue
import signal
import threading
import time
import _thread

began, work = time.monotonic(), time.process_time()
for waiter in (queue.Queue(), queue.SimpleQueue()):
    try:
        waiter.get(timeout=0.2)
    except queue.Empty:
        print("empty")
lock = threading.Lock()
with lock:
    print(lock.acquire(timeout=0.2), lock.acquire(blocking=False))
again = threading.RLock()
with again, again:
    print(threading.Event().wait(0.1), threading.Semaphore(0).acquire(timeout=0.1))
condition = threading.Condition()
with condition:
    print(condition.wait(0.1))
assert time.monotonic() - began >= 0.9 and time.process_time() - work < 0.45
signal.signal(signal.SIGTERM, lambda number, frame: print("signal", number))
signal.raise_signal(signal.SIGTERM)
for interrupt in (lambda: signal.raise_signal(signal.SIGINT), _thread.interrupt_main):
    try:
        interrupt()
        time.sleep(0.01)
    except KeyboardInterrupt:
        print("interrupted")
try:
    signal.alarm(1)
except AttributeError as e:
    print(e)
