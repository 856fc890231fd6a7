# Starts threads for ever.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 8000}, "stdout": "bomb\n"}
# during: true
import threading
import time

print("bomb", flush=True)
while True:
    try:
        threading.Thread(target=time.sleep, args=(1000,)).start()
    except (RuntimeError, MemoryError):
        pass
