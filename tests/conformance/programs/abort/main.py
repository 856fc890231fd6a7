import os

print("up", flush=True)
os.abort()
