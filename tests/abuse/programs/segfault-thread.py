# A thread crashes while others work.
# expect: {"status": "failed", "reason": "signal", "signal": 11, "limits": {"wallMs": 2000}}
import ctypes
import threading
import time

threading.Thread(target=time.sleep, args=(1000,)).start()
threading.Thread(target=ctypes.string_at, args=(8,)).start()
time.sleep(1000)
