import atexit
import threading
import time

atexit.register(print, "registered first")
atexit.register(print, "registered last")
threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
print("main")
