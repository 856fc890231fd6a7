import time
print("step one done")          # not flushed
time.sleep(30)
