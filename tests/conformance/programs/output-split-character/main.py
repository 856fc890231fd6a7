import sys
import time

for byte in "☕é🧪".encode():
    sys.stdout.buffer.write(bytes([byte]))
    sys.stdout.flush()
    time.sleep(0.01)
