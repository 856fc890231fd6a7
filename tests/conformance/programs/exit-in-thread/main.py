import sys
import threading

t = threading.Thread(target=lambda: sys.exit(7))
t.start()
t.join()
print("still here")
