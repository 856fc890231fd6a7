# A child between vfork and exec has its parent's memory: it is counted once.
import subprocess
import time

held = bytearray(90 << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
end = time.monotonic() + 3
while time.monotonic() < end:
    try:
        subprocess.run(["/opt/python/lib/nothing"])
    except FileNotFoundError:
        pass
print("done")
