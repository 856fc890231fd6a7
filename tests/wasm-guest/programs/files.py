# files: append.txt renamed.txt
"""The file system as POSIX has it: what is done, and how what cannot be done fails."""
import errno
import os
import stat
import time


def code(fn, *args, **kwargs):
    """The name of the error that this call ends in."""
    try:
        fn(*args, **kwargs)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "none"


# ---- folders ----
os.makedirs("a/b/c")
os.mkdir("d")
assert sorted(os.listdir()) == ["a", "d"]
assert code(os.mkdir, "d") == "EEXIST" and code(os.mkdir, "no/x") == "ENOENT"
assert code(os.rmdir, "a") == "ENOTEMPTY" and code(os.rmdir, "no") == "ENOENT" and code(os.unlink, "d") == "EISDIR"
os.rename("a", "d/a")
assert [os.path.join(w, f) for w, fs, _ in os.walk("d") for f in sorted(fs)] == ["d/a", "d/a/b", "d/a/b/c"]
assert code(os.rename, "d", "d/a/x") == "EINVAL"
os.mkdir("e")
assert code(os.rename, "e", "d") == "ENOTEMPTY"
os.rename("d", "e")  # over an empty one
assert os.listdir() == ["e"] and os.listdir("e") == ["a"]
os.removedirs("e/a/b/c")
assert os.listdir() == []

# ---- contents ----
with open("f", "w") as f:
    assert f.write("hello") == 5
assert open("f").read() == "hello" and os.path.getsize("f") == 5
with open("f", "r+b") as f:
    f.seek(2)
    f.write(b"XX")
    f.truncate(3)
    f.seek(6)
    f.write(b"end")
    f.seek(0)
    assert f.read() == b"heX\0\0\0end"
with open("append.txt", "w") as f:
    f.write("one")
with open("append.txt", "a") as f:
    f.seek(0)
    f.write("two")
assert open("append.txt").read() == "onetwo"
assert code(open, "f", "x") == "EEXIST" and code(open, "no") == "ENOENT" and code(open, "") == "ENOENT"
assert code(open, "f/x") == "ENOTDIR" and code(open, ".") == "EISDIR" and code(open, "x" * 256, "w") == "ENAMETOOLONG"
assert code(open, "new/", "w") == "EISDIR" and code(os.listdir, "f") == "ENOTDIR"
assert code(os.truncate, "f", 1 << 40) == "EFBIG"

# ---- links ----
os.link("f", "hard")
assert os.stat("f").st_nlink == 2 and os.path.samefile("f", "hard")
os.unlink("f")
assert open("hard", "rb").read() == b"heX\0\0\0end" and os.stat("hard").st_nlink == 1
os.symlink("hard", "soft")
os.symlink("loop", "loop")
os.symlink("later", "dangling")
assert os.readlink("soft") == "hard" and os.path.samefile("soft", "hard") and os.path.islink("soft")
assert code(open, "loop") == "ELOOP" and code(os.stat, "dangling") == "ENOENT" and os.path.lexists("dangling")
open("dangling", "w").write("made through the link")
assert open("later").read() == "made through the link"
os.makedirs("deep/er")
os.symlink("deep/er", "ld")
assert os.path.realpath("ld/..") == "/mnt/data/deep" and os.stat("ld/../er").st_ino == os.stat("deep/er").st_ino
for name in ("loop", "dangling", "later", "soft", "ld"):
    os.unlink(name)
os.removedirs("deep/er")
os.rename("hard", "renamed.txt")

# ---- open files that are gone ----
f = open("gone", "w+")
f.write("still here")
os.unlink("gone")
assert not os.path.exists("gone")
f.seek(0)
assert f.read() == "still here" and os.fstat(f.fileno()).st_nlink == 0
f.close()

# ---- times and permissions ----
before = time.time_ns()
open("t", "w").close()
assert before <= os.stat("t").st_mtime_ns <= time.time_ns()
os.utime("t", ns=(5, 7))
assert (os.stat("t").st_atime_ns, os.stat("t").st_mtime_ns) == (5, 7)
os.utime("t", (1, 2))
assert (os.stat("t").st_atime, os.stat("t").st_mtime) == (1.0, 2.0)
os.chmod("t", 0o400)
assert stat.filemode(os.stat("t").st_mode) == "-r--------" and code(open, "t", "a") == "EACCES"
assert not os.access("t", os.W_OK) and os.access("t", os.R_OK) and os.stat("t").st_uid == os.getuid()
before = os.umask(0o77)
open("private", "w").close()
assert stat.S_IMODE(os.stat("private").st_mode) == 0o600 and os.umask(before) == 0o77
os.mkdir("shut")
os.chmod("shut", 0)
assert code(open, "shut/x", "w") == "EACCES" and code(os.stat, "shut/x") == "EACCES"
os.chmod("shut", 0o755)
os.rmdir("shut")
os.unlink("t")
os.unlink("private")

# ---- what is not a program's to change ----
for call in ((open, "/x", "w"), (open, "/usr/share/zoneinfo/UTC", "a"), (os.mkdir, "/mnt/x"), (os.unlink, "/dev/null"),
             (os.rmdir, "/mnt/data"), (os.rename, "/tmp", "/home/x"), (os.symlink, "/tmp", "/etc/passwd")):
    assert code(*call) == "EROFS", call
assert code(os.rmdir, "/") == "EBUSY"

# ---- where one is ----
os.mkdir("w")
os.chdir("w")
assert os.getcwd() == "/mnt/data/w"
os.rename("/mnt/data/w", "/mnt/data/w2")
assert os.getcwd() == "/mnt/data/w2"
os.rmdir("/mnt/data/w2")
assert code(os.getcwd) == "ENOENT" and code(open, "x", "w") == "ENOENT" and code(os.listdir, "..") == "ENOENT"
os.chdir("/mnt/data")
assert code(os.chdir, "append.txt") == "ENOTDIR" and code(os.chdir, "no") == "ENOENT"
assert os.path.exists("/../../mnt/data/append.txt")
print("as it should be")
