import threading
import time

for n in range(1000):
    threading.Thread(target=time.sleep, args=(50,), daemon=True).start()
