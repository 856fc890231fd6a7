# Swaps stdout and stderr.
# expect: {"status": "succeeded", "stdout": "to stdout\n", "stderr": "to stderr\n"}
import os

keep = os.dup(1)
os.dup2(2, 1)
os.dup2(keep, 2)
os.write(1, b"to stderr\n")
os.write(2, b"to stdout\n")
