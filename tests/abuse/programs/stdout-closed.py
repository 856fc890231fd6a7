# Closes its streams and goes on.
# expect: {"status": "succeeded", "stdout": "before\n", "artifacts": {"done.txt": {"text": "done"}}}
import os
import sys

print("before", flush=True)
os.close(0)
os.close(1)
os.close(2)
open("done.txt", "w").write("done")
