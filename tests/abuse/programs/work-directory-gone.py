# Removes its own work directory.
# expect: {"status": "succeeded", "stdout": "gone\n", "artifacts": {}}
import os
import shutil

for name in ("/mnt/data", "/tmp", "/dev/shm"):
    shutil.rmtree(name, ignore_errors=True)
try:
    os.rmdir("/mnt/data")
except OSError:
    pass
print("gone")
