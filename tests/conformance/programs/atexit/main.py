import atexit
import threading
import time

atexit.register(print, "registered first")
atexit.register(print, "registered last")
ended = threading.Event()
threading.Thread(target=lambda: (ended.wait(), time.sleep(0.1), print("thread"))).start()
print("main")
ended.set()
