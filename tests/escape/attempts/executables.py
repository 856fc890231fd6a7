# Starts a program that it wrote itself: from files, from memory, through the loader.
from esc import *

need_x86_64()
import base64
import glob
import subprocess

# A whole ELF program of 132 bytes: exit(42).
elf = bytes.fromhex("7f454c4602010100000000000000000002003e000100000078004000000000004000000000000000000000000000000000000000400038000100000000000000"
                    "010000000500000000000000000000000000400000000000000040000000000084000000000000008400000000000000001000000000000"
                    "0bf2a000000b83c0000000f05").ljust(132, b"\0")


def starts(what, function):
    code = in_child(lambda: (function(), 7)[1])
    if code == 42:
        escaped(what)
    else:
        contained(what, "exit %d" % code)


def try_exec(path):
    try:
        os.execv(path, [path])
    except OSError as e:
        contained("execve " + path, reason(e))


def try_exec_loader(loader, path):
    try:
        os.execv(loader, [loader, path])
    except OSError as e:
        contained("execve " + loader, reason(e))


for folder in ("/mnt/data", "/tmp", "/dev/shm", os.environ.get("HOME", "/tmp")):
    for name, data in (("prog", elf), ("script", b"#!" + os.path.realpath(sys.executable).encode() + b"\nimport os\nos._exit(42)\n")):
        path = os.path.join(folder, name)
        try:
            with open(path, "wb") as f:
                f.write(data)
            os.chmod(path, 0o755)
        except OSError as e:
            contained("write " + path, reason(e))
            continue
        starts("program in " + folder, lambda: try_exec(path))
        for loader in glob.glob("/lib64/ld-linux*") + glob.glob("/lib/ld-linux*"):
            starts("loader with " + path, lambda: try_exec_loader(loader, path))


fd, number = raw("memfd_create", b"m", 0)
if fd < 0:
    contained("memfd_create", errno.errorcode[number])
else:
    os.write(fd, elf)
    starts("fexecve of a memfd", lambda: raw("execveat", fd, b"", (ctypes.c_char_p * 2)(b"m", None), (ctypes.c_char_p * 1)(None), 0x1000))
    starts("execve of /proc/self/fd", lambda: try_exec("/proc/self/fd/%d" % fd))
fd = os.open("/mnt/data", os.O_TMPFILE | os.O_RDWR, 0o755) if hasattr(os, "O_TMPFILE") else -1
os.write(fd, elf)
starts("execveat of an unnamed file", lambda: raw("execveat", fd, b"", (ctypes.c_char_p * 2)(b"m", None), (ctypes.c_char_p * 1)(None), 0x1000))
