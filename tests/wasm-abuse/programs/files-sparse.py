# A file of a petabyte, by its size only.
# expect: {"status": "succeeded", "reason": "exit", "limits": {"fuel": 200000000000, "memoryBytes": 134217728}, "stdout": {"matches": "(refused .*\n){3}"}, "stderr": "", "artifactsOther": true}
import os

fd = os.open("sparse", os.O_RDWR | os.O_CREAT)
for what in (lambda: os.ftruncate(fd, 1 << 50), lambda: os.pwrite(fd, b"x", 1 << 40), lambda: os.posix_fallocate(fd, 0, 1 << 45)):
    try:
        what()
        print("done")
    except (OSError, OverflowError, AttributeError, MemoryError) as e:
        print("refused", type(e).__name__)
os.close(fd)
os.unlink("sparse")
