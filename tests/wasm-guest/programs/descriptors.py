"""Descriptors: shared offsets, dup2, devices, and the standard streams in order."""
import errno
import os
import select
import stat
import sys


def code(fn, *args):
    try:
        fn(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "none"


fd = os.open("f", os.O_RDWR | os.O_CREAT | os.O_EXCL)
assert fd == 3, fd
os.write(fd, b"abcdef")
same = os.dup(fd)
os.lseek(same, 1, os.SEEK_SET)
assert os.read(fd, 2) == b"bc" and os.read(same, 9) == b"def" and os.pread(fd, 2, 4) == b"ef"
os.close(fd)
assert code(os.close, fd) == "EBADF" and os.lseek(same, -2, os.SEEK_END) == 4
os.ftruncate(same, 2)
assert os.fstat(same).st_size == 2
os.close(same)
reader = os.open("f", os.O_RDONLY)
assert code(os.write, reader, b"x") == "EBADF" and select.select([reader], [], [], 0)[0] == [reader]
os.closerange(3, 1024)
assert os.listdir() == ["f"]  # no descriptor of ours was among them

assert code(os.lseek, 1, 0, 0) == "ESPIPE" and not os.isatty(1) and stat.S_ISFIFO(os.fstat(2).st_mode)
assert os.read(0, 10) == b"" and sys.stdin.read() == ""
assert open("/dev/null").read() == "" and len(open("/dev/urandom", "rb", 0).read(7)) == 7
assert open("/dev/zero", "rb", 0).read(3) == b"\0\0\0" and stat.S_ISCHR(os.stat("/dev/null").st_mode)
many = []
try:
    while True:
        many.append(os.open("f", os.O_RDONLY))
except OSError as e:
    assert errno.errorcode[e.errno] == "EMFILE" and len(many) == 1021, (e, len(many))
os.closerange(3, 1024)

print("one", end="", flush=True)
os.write(1, b" two")
print(" three")
open("/dev/stdout", "w").write("four\n")
kept = os.dup(1)
target = os.open("out", os.O_WRONLY | os.O_CREAT)
os.dup2(target, 1)
print("to the file")
os.write(1, b"raw\n")
os.dup2(kept, 1)
print("back")
assert open("out").read() == "to the file\nraw\n"
