"""Files and folders are made with the permissions asked for; times can be set to now."""
import os
import stat
import tempfile
import time


def mode(path):
    return oct(stat.S_IMODE(os.stat(path).st_mode))


folder = tempfile.mkdtemp(dir="/tmp")
fd, file = tempfile.mkstemp(dir=folder)
os.close(fd)
assert (mode(folder), mode(file)) == ("0o700", "0o600"), (mode(folder), mode(file))
os.chdir(folder)
os.mkdir("shut", 0o555)
try:
    open("shut/file", "w")
except PermissionError:
    pass
else:
    raise AssertionError("a file was made in a folder that is not writable")
open("plain", "w").close()
os.makedirs("a/b")
assert (mode("plain"), mode("a/b")) == ("0o644", "0o755"), (mode("plain"), mode("a/b"))
os.umask(0o077)
os.close(os.open("own", os.O_CREAT | os.O_WRONLY, 0o666))
assert mode("own") == "0o600", mode("own")
os.close(os.open("plain", os.O_CREAT | os.O_WRONLY, 0o600))
assert mode("plain") == "0o644", "a file that was there has changed"

before = time.time()
os.utime("plain", (5, 6))
assert (os.stat("plain").st_atime, os.stat("plain").st_mtime) == (5, 6)
os.utime("plain")
assert os.stat("plain").st_mtime >= before - 1, os.stat("plain").st_mtime
os.utime("plain", (5, 6))
with open("plain") as f:
    os.utime(f.fileno())
assert os.stat("plain").st_mtime >= before - 1, os.stat("plain").st_mtime
print("as asked")
