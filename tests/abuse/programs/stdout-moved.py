# Points its stdout at a file.
# expect: {"status": "succeeded", "stdout": "before\n", "artifacts": {"moved.txt": {"text": "after\n"}}}
import os

print("before", flush=True)
fd = os.open("moved.txt", os.O_CREAT | os.O_WRONLY)
os.dup2(fd, 1)
print("after")
