# Folders within folders.
# expect: {"status": "succeeded", "reason": "exit", "limits": {"fuel": 200000000000, "memoryBytes": 268435456}, "stdout": {"contains": ["end"]}, "stderr": "", "artifactsOther": true, "rejected": {}}
import os

deep = 0
try:
    for deep in range(100000):
        os.mkdir("d")
        os.chdir("d")
except OSError as e:
    print(deep, type(e).__name__)
try:
    open("bottom", "w").write("x")
except OSError as e:
    print(type(e).__name__)
print("end")
