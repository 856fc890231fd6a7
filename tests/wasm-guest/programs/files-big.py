# memory: 256
# files: big.bin
"""A file of 48 MiB written piece by piece, holes, and other ways to make one large."""
import hashlib
import os

piece = bytes(range(256)) * 256
want = hashlib.sha256()
with open("big.bin", "wb") as f:
    for i in range(768):
        f.write(piece)
        want.update(piece)
assert os.path.getsize("big.bin") == 48 << 20
with open("big.bin", "rb") as f:
    assert hashlib.file_digest(f, "sha256").digest() == want.digest()
with open("big.bin", "r+b") as f:
    f.truncate(100)
with open("hole", "wb") as f:
    f.seek(20 << 20)
    f.write(b"x")
assert os.path.getsize("hole") == (20 << 20) + 1
with open("hole", "rb") as f:
    assert f.read(4096) == bytes(4096)
    f.seek(-2, os.SEEK_END)
    assert f.read() == b"\0x"
os.unlink("hole")
for _ in range(10):  # what is removed can be had again
    with open("again", "wb") as f:
        f.write(bytes(30 << 20))
    os.unlink("again")
print("fine")
