# Descriptors without end.
# expect: {"status": "succeeded", "reason": "exit", "limits": {"fuel": 200000000000, "memoryBytes": 268435456}, "stdout": {"matches": "OSError \\d+ \\w+\n"}, "stderr": "", "artifactsOther": true}
import errno
import os

kept = []
try:
    while len(kept) < 10 ** 6:
        kept.append(os.open("x", os.O_RDWR | os.O_CREAT))
except OSError as e:
    print(type(e).__name__, len(kept), errno.errorcode.get(e.errno))
