# A hundred thousand files.
# expect: {"status": "succeeded", "reason": "exit", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 268435456, "artifactCount": 256}, "stdout": "made\n", "stderr": "", "artifactsOther": true, "rejected": {}}
for n in range(100000):
    with open("f%d" % n, "w") as f:
        f.write("x")
print("made")
