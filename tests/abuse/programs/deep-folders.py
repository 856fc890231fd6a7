# A thousand folders, each in the other.
# expect: {"status": "succeeded", "stdout": "made\n", "artifacts": {"top.txt": {"text": "x"}}, "rejected": {}}
import os

for n in range(1000):
    os.mkdir("d")
    os.chdir("d")
open("bottom.txt", "w").write("x")
os.chdir("/mnt/data")
open("top.txt", "w").write("x")
print("made")
