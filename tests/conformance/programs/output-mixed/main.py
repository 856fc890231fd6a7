import os
import subprocess
import sys

print("one", end=" ", flush=True)
os.write(1, b"two ")
sys.stdout.buffer.write(b"three ")
sys.stdout.flush()
subprocess.run([sys.executable, "-c", "print('four')"], check=True)
print("five", file=sys.__stdout__)
print("to stderr", file=sys.stderr)
