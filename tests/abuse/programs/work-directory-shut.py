# Takes all permissions from its work directory, and moves it.
# expect: {"status": "succeeded", "stdout": "shut\n", "artifactsOther": true, "rejected": {}}
import os

open("in.txt", "w").write("in")
os.chmod(".", 0)
for target in ("/mnt/other", "/tmp/other"):
    try:
        os.rename("/mnt/data", target)
    except OSError:
        pass
print("shut")
