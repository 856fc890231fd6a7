# exit: 120
"""What was written last is written at the end; when that fails, the exit code says so."""
import atexit
import os

atexit.register(print, "third")
atexit.register(print, "second")
print("first")


class Last:
    def __del__(self, close=os.close):
        print("fourth", flush=True)
        close(1)
        print("lost", end="")


last = Last()
