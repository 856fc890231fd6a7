import time

print("x" * 3000, flush=True)
time.sleep(60)
