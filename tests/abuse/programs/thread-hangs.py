# A thread that is waited for and never ends.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000}, "stdout": "main ends\n"}
import threading
import time

threading.Thread(target=time.sleep, args=(1000,)).start()
print("main ends")
