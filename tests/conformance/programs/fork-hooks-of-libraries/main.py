# What libraries register with os.register_at_fork runs in forks of the program's, in the usual order.
import logging
import os
import random
import threading
import warnings

warnings.simplefilter("ignore")  # threads and fork
print(threading.main_thread().native_id == threading.get_native_id())
order = []
for name in "ab":
    os.register_at_fork(before=lambda n=name: order.append("before " + n),
                        after_in_parent=lambda n=name: order.append("parent " + n),
                        after_in_child=lambda n=name: order.append("child " + n))
lock = logging._lock if hasattr(logging, "_lock") else None
done = threading.Event()
holder = threading.Thread(target=lambda: done.wait(10))
holder.start()
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    free = lock is None or lock.acquire(blocking=False)
    os.write(w, repr((order[2:], threading.active_count(), free, random.random())).encode())
    os._exit(0)
os.waitpid(pid, 0)
done.set()
holder.join()
child, count, free, number = eval(os.read(r, 10000))
print(order, child, count, free, number != random.random())
print(lock is None or lock.acquire(blocking=False))
