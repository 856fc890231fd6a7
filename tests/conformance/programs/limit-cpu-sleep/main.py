import time

time.sleep(0.8)
print("rested")
