# A finaliser that does not end, at the end of the program.
# expect: {"status": ["succeeded", "timed_out"], "reason": ["exit", "wall_time"], "limits": {"wallMs": 1000}, "stdout": "main ends\n"}
import atexit
import time


class Slow:
    def __del__(self):
        time.sleep(1000)


slow = Slow()
print("main ends")
