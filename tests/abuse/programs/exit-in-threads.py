# Many threads end the process at once.
# expect: {"status": ["succeeded", "failed"], "reason": "exit"}
import os
import threading

for n in range(20):
    threading.Thread(target=os._exit, args=(n,)).start()
