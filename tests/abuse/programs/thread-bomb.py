# Starts threads for ever.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 2000}, "stdout": ""}
import threading
import time

while True:
    try:
        threading.Thread(target=time.sleep, args=(1000,)).start()
    except (RuntimeError, MemoryError):
        pass
