# Every function of os and posix, with arguments that none should be called with.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"fuel": 100000000000, "wallMs": 120000}, "stdout": {"contains": ["end\n"], "notContains": ["ESCAPED"]}, "stderr": "", "artifactsOther": true, "rejected": {}}
import itertools
import os
import posix
import warnings

warnings.simplefilter("ignore")
VALUES = [-1, 0, 1, 2, 5, 2 ** 31 - 1, -2 ** 31, 2 ** 32, 2 ** 63 - 1, -2 ** 63, 2 ** 64, None, "", "x", "x" * 5000, "\0", "..", "/", b"", b"\xff",
          b"y\0z", [], ["a"], {}, (1, 2), 1.5, True, bytearray(10), memoryview(b"123"), object()]
FD_LIKE = [3, 4, 5, 1000, 1023, 1024]
SKIP = {"_exit", "abort", "write", "writev", "pwrite", "pwritev", "sendfile", "close", "closerange", "dup2", "fdopen", "register_at_fork", "walk", "fwalk",
        "get_terminal_size", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "kill", "killpg", "_Environ",
        "PathLike", "terminal_size", "urandom", "getrandom", "posix_fallocate", "truncate", "ftruncate", "preadv", "read", "readv",
        "pread", "Mapping", "MutableMapping", "GenericAlias", "fsdecode", "DirEntry"}
done = raised = 0
for module in (os, posix):
    for name in sorted(dir(module)):
        fn = getattr(module, name)
        if name.startswith("__") or name in SKIP or not callable(fn) or isinstance(fn, type):
            continue
        for count in (0, 1, 2, 3):
            some = itertools.product(VALUES, repeat=count) if count < 3 else (
                (a, b, c) for a in VALUES[:8] + FD_LIKE for b in VALUES[5:18:3] for c in VALUES[::7])
            for args in some:
                try:
                    fn(*args)
                    done += 1
                except BaseException as e:
                    if isinstance(e, (SystemExit, KeyboardInterrupt)):
                        print("ESCAPED", name, args)
                    raised += 1
os.chdir("/mnt/data")
# And those that write or take much, with less.
fd = os.open("file", os.O_RDWR | os.O_CREAT)
for args in itertools.product((fd, -1, 9999, 2 ** 31 - 1), (b"", b"x", bytearray(3), "x", None), (0, -1, 2 ** 31, 2 ** 62, "")):
    for fn in (getattr(os, n) for n in ("write", "pwrite", "pread", "read", "writev", "readv", "ftruncate") if hasattr(os, n)):
        for n in (1, 2, 3):
            try:
                fn(*args[:n])
            except Exception:
                pass
for n in (-1, 2 ** 31, 2 ** 62, 10 ** 5):
    for fn in (os.read, os.pread):
        try:
            fn(fd, n, 0) if fn is os.pread else fn(fd, n)
        except Exception:
            pass
for what in (0, 1, 2, 3, 4, 100, -1):
    for offset in (-2 ** 63, -1, 0, 1, 2 ** 31, 2 ** 63 - 1):
        try:
            os.lseek(fd, offset, what)
            os.read(fd, 3)
        except Exception:
            pass
os.close(fd)
os.unlink("file")
print(done > 100, raised > 10000)
print("end")
