import atexit
import threading

atexit.register(print, "exit handler")
threading._register_atexit(lambda: 1 / 0)
print("main")
