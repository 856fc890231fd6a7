# memory: 96
"""Memory that is used up is an exception, whoever used it, and the program goes on."""
import errno
import os


def ends(fn):
    try:
        fn()
    except MemoryError:
        return "MemoryError"
    except OSError as e:
        return errno.errorcode[e.errno]


def objects():
    kept = []
    while True:
        kept.append(object())


def texts():
    kept = []
    while True:
        kept.append(" " * 1000 + str(len(kept)))


def mapping():
    kept = {}
    while True:
        kept[len(kept)] = [len(kept)]


def big_file(size):
    with open("big", "wb", buffering=0) as f:
        while True:
            f.write(bytes(size))


def small_files():
    for n in range(1 << 30):
        with open(f"m{n}", "wb") as f:
            f.write(bytes(5000))


assert ends(lambda: bytearray(1 << 30)) == "MemoryError"
assert ends(lambda: [0] * (1 << 28)) == "MemoryError"
assert ends(lambda: "x" * (1 << 30)) == "MemoryError"
assert ends(lambda: "%99999999d" % 1 * 99) == "MemoryError"
for fn in (objects, texts, mapping):
    assert ends(fn) == "MemoryError", fn
for size in (1 << 20, 1000):
    assert ends(lambda: big_file(size)) == "ENOSPC"
    assert os.path.getsize("big") > 10 << 20
    os.unlink("big")
assert ends(small_files) == "ENOSPC"
names = os.listdir()  # Python still has room of its own
assert len(names) > 1000
for name in names:
    os.unlink(name)
assert len(bytearray(8 << 20)) == 8 << 20
print("goes on")
