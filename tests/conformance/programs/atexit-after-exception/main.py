import atexit

atexit.register(print, "cleaned up")
raise RuntimeError("no")
