# Libraries that were used end what they began: a handler's buffer, a worker, a finaliser, a thread pool.
import atexit
import concurrent.futures
import logging
import logging.handlers
import multiprocessing.util
import sys
import threading
import time
import weakref

target = logging.StreamHandler(sys.stdout)
logging.getLogger().addHandler(logging.handlers.MemoryHandler(100, target=target))
logging.getLogger().setLevel("INFO")
logging.getLogger().info("buffered record")
multiprocessing.util.Finalize(None, print, args=("finaliser of multiprocessing",), exitpriority=1)


class Thing:
    pass


thing = Thing()
weakref.finalize(thing, print, "weakref.finalize")
pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(lambda: (time.sleep(0.2), print("work of the pool")))
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
atexit.register(print, "own handler")
print("end of the file")
