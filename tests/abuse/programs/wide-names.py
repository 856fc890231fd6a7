# Thousands of long names, most of them impossible.
# expect: {"status": "succeeded", "stdout": "made\n", "artifacts": {}, "rejected": {}}
import os

for n in range(3000):
    name = os.fsencode("%04d" % n) + b"\xff\n\x1b" * 80
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
print("made")
