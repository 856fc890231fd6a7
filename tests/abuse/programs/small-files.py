# 100,000 small files; what does not fit the limits is refused, in bounded time.
# expect: {"status": "succeeded", "stdout": "made\n", "artifactsOther": true, "rejected": {}, "limits": {"wallMs": 60000}}
# options: ["--disk-inodes", "200000", "--disk-bytes", "1073741824"]
import os

for n in range(100_000):
    if n % 1000 == 0:
        os.makedirs("d%d" % (n // 1000))
    with open("d%d/f%d" % (n // 1000, n), "w") as f:
        f.write("x")
print("made")
