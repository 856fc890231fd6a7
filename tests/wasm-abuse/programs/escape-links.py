# Links that lead out, round and round, and to what is gone.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"fuel": 100000000000, "wallMs": 120000}, "stdout": {"contains": ["end\n"], "notContains": ["ESCAPED"]}, "stderr": "", "artifactsOther": true, "rejected": {}}
import os


def tried(what):
    try:
        return what()
    except (OSError, ValueError, RecursionError) as e:
        return type(e).__name__


os.symlink("/etc/passwd", "out")
os.symlink("../../../../etc/passwd", "up")
os.symlink("loop", "loop")
os.symlink("b", "a")
os.symlink("a", "b")
os.symlink("x" * 4095, "long")
os.symlink("", "empty") if not isinstance(tried(lambda: os.symlink("", "none")), str) else None
for name in ("out", "up", "loop", "a", "long", "out/..", "up/../x"):
    for what in (lambda: open(name, "rb").read(10), lambda: os.listdir(name), lambda: os.stat(name), lambda: os.chdir(name),
                 lambda: os.rename(name, name + "2"), lambda: os.truncate(name, 0), lambda: os.utime(name), lambda: os.chmod(name, 0o777),
                 lambda: os.link(name, "hard"), lambda: os.unlink("hard")):
        got = tried(what)
        if isinstance(got, bytes) and got:
            print("ESCAPED", name, got)
# A folder into itself, into its child, over what is open; one that is gone under our feet.
os.makedirs("d/e/f")
for old, new in (("d", "d"), ("d", "d/e"), ("d", "d/e/f/g"), ("d/e", "d"), ("d", "."), (".", "x"), ("/", "x"), ("/mnt/data", "d/x"),
                 ("d/.", "y"), ("d/..", "z"), ("d/e/f", "d/e"), ("..", "w")):
    tried(lambda: os.rename(old, new))
os.makedirs("gone/here", exist_ok=True)
os.chdir("gone/here")
os.rmdir("../here")
os.rmdir("/mnt/data/gone")
for what in (lambda: os.getcwd(), lambda: open("x", "w"), lambda: os.mkdir("y"), lambda: os.listdir("."), lambda: os.listdir(".."),
             lambda: os.stat(".."), lambda: os.chdir(".."), lambda: os.rename("../..", "z")):
    tried(what)
os.chdir("/mnt/data")
# What is open stays as it was.
with open("kept", "w+b") as f:
    f.write(b"content")
    os.unlink("kept")
    f.seek(0)
    assert f.read() == b"content"
    f.truncate(1 << 20)
    f.seek(1 << 19)
    assert f.read(1) == b"\0"
for at in (-1, 1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1):
    fd = os.open("sparse", os.O_RDWR | os.O_CREAT)
    tried(lambda: os.lseek(fd, at, os.SEEK_SET))
    tried(lambda: os.write(fd, b"x"))
    tried(lambda: os.read(fd, 10))
    tried(lambda: os.ftruncate(fd, at))
    os.close(fd)
    os.unlink("sparse")
print("end")
