# The first process ends, its child goes on working.
# expect: {"status": "succeeded", "artifacts": {"early.txt": {"text": "early"}}}
import os
import time

if os.fork() == 0:
    os.setsid()
    time.sleep(1)
    open("late.txt", "w").write("late")
    time.sleep(1000)
open("early.txt", "w").write("early")
