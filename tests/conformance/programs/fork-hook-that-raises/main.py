import logging
import os
import threading
import warnings

warnings.simplefilter("ignore")  # threads and fork


class Odd(logging.Handler):
    def _at_fork_reinit(self):
        raise ValueError("odd")


odd = Odd()
order = []
os.register_at_fork(after_in_child=lambda: 1 / 0)
os.register_at_fork(after_in_child=lambda: order.append("last"))
done = threading.Event()
holder = threading.Thread(target=lambda: done.wait(10))
holder.start()
pid = os.fork()
if pid == 0:
    print(threading.active_count(), order, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
done.set()
holder.join()
print("parent")
