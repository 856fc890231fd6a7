import atexit
import sys

atexit.register(print, "first registered runs last")
atexit.register(sys.exit, 8)
print("main done")
