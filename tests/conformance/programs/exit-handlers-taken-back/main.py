import atexit
import logging
import logging.handlers
import sys

root = logging.getLogger()
root.addHandler(logging.handlers.MemoryHandler(100, target=logging.StreamHandler(sys.stdout)))
root.setLevel("INFO")
root.info("buffered for ever")
atexit.register(print, "never")
atexit.unregister(print)
atexit.unregister(logging.shutdown)
atexit.register(print, "after all")
print("main")
