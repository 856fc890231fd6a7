# A hundred thousand folders.
# expect: {"status": ["succeeded", "failed"], "reason": ["exit", "memory", "disk", "exception"], "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456}, "stdout": {}, "stderr": {}, "artifactsOther": true, "rejected": {}}
import os

for n in range(100000):
    os.mkdir("d%d" % n)
print("made")
