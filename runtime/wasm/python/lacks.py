"""What the guest has not got, said in words, and small things that WASI lacks and we have.

Compiled under the name of an import system's file, so that a failing import shows no line of this one.
"""
import errno
import os
import sys

raiser = guest["raiser"]


def words(what, why):
    return f"{what} is not available in the WebAssembly sandbox: {why}"


NO_THREADS = "it has one thread; asyncio works"
NO_PROCESSES = "it has no processes"
NO_NETWORK = "it has no network"
NO_LIBRARY = "this library is not part of it"


def lack(where, name, error, what, why):
    text = words(what, why)
    args = (errno.ENOTSUP, text) if issubclass(error, OSError) else (text,)
    setattr(where, name, raiser(name, error, *args))


# ---- threads ----
import _thread
import threading

for where, name in ((_thread, "start_new_thread"), (_thread, "start_new"), (_thread, "start_joinable_thread"),
                    (threading, "_start_joinable_thread"), (threading, "_start_new_thread")):
    if hasattr(where, name):
        lack(where, name, RuntimeError, "threading.Thread.start", NO_THREADS)

# ---- processes ----
import subprocess
import concurrent.futures.process
import multiprocessing
import multiprocessing.context
import multiprocessing.process

lack(subprocess.Popen, "__init__", OSError, "subprocess", NO_PROCESSES)
lack(concurrent.futures.process.ProcessPoolExecutor, "__init__", OSError, "concurrent.futures.ProcessPoolExecutor", NO_PROCESSES)
lack(multiprocessing.process.BaseProcess, "start", OSError, "multiprocessing.Process.start", NO_PROCESSES)
for name in ("Barrier", "BoundedSemaphore", "Condition", "Event", "JoinableQueue", "Lock", "Manager", "Pipe", "Pool", "Queue",
             "RLock", "Semaphore", "SimpleQueue"):
    lack(multiprocessing.context.BaseContext, name, OSError, f"multiprocessing.{name}", NO_PROCESSES)
    lack(multiprocessing, name, OSError, f"multiprocessing.{name}", NO_PROCESSES)

# ---- network ----
import socket

lack(socket.socket, "__init__", OSError, "socket.socket", NO_NETWORK)
for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo",
             "create_connection", "create_server", "socketpair", "fromfd"):
    lack(socket, name, OSError, f"socket.{name}", NO_NETWORK)
import http.client


class HTTPSConnection(http.client.HTTPConnection):
    """So that an address with https fails for want of a network, as one with http does."""

    default_port = 443

    def __init__(self, host, port=None, *, timeout=socket._GLOBAL_DEFAULT_TIMEOUT, source_address=None, context=None,
                 blocksize=8192):
        super().__init__(host, port, timeout, source_address, blocksize)


HTTPSConnection.__module__ = "http.client"
http.client.HTTPSConnection = HTTPSConnection
http.client._create_https_context = lambda http_version: None
import urllib.request

socket.gethostname = lambda: os.uname().nodename

# ---- os ----
import posix


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    """Change the access permissions of a file."""
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
    if isinstance(path, int):
        return guest["fchmod"](path, mode)
    return guest["chmod"](os.fsencode(path), mode, follow_symlinks, path)


def fchmod(fd, mode):
    """Change the access permissions of the file given by file descriptor fd."""
    return guest["fchmod"](fd, mode)


def umask(mask):
    """Set the current numeric umask and return the previous umask."""
    return guest["umask"](mask)


def dup(fd, /):
    """Return a duplicate of a file descriptor."""
    return guest["dup"](fd, -1)


def dup2(fd, fd2, inheritable=True):
    """Duplicate file descriptor."""
    return guest["dup"](fd, fd2)


def cpu_count():
    """Return the number of logical CPUs in the system."""
    return 1


def sched_getaffinity(pid, /):
    """Return the affinity of the process identified by pid."""
    return {0}


def getppid():
    """Return the parent's process id."""
    return 0


def getuid():
    """Return the current process's user id."""
    return 1000


def add_to_os():
    geteuid = getgid = getegid = getuid
    ours = {"chmod": chmod, "fchmod": fchmod, "umask": umask, "dup": dup, "dup2": dup2, "cpu_count": cpu_count,
            "process_cpu_count": cpu_count, "sched_getaffinity": sched_getaffinity, "getppid": getppid,
            "getuid": getuid, "geteuid": geteuid, "getgid": getgid, "getegid": getegid}
    for name, fn in ours.items():
        fn.__module__ = "posix"
        setattr(os, name, fn)
        if name != "process_cpu_count":
            setattr(posix, name, fn)
        if name not in os.__all__:
            os.__all__.append(name)
    os.supports_follow_symlinks.add(chmod)
    os.supports_fd.add(chmod)


OS_LACKS = {
    NO_PROCESSES: "fork forkpty system popen wait waitpid waitid wait3 wait4 kill killpg posix_spawn posix_spawnp spawnl spawnle "
                  "spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe pidfd_open setsid getpgid setpgid getsid nice",
    "it has no pipes, devices or terminals": "pipe pipe2 mkfifo mknod openpty tcgetpgrp ttyname login_tty eventfd memfd_create "
                                             "get_terminal_size",
    "it has one user": "chown lchown fchown chroot getlogin setuid setgid getgroups initgroups getresuid",
}
LACKING = {name: words(f"os.{name}", why) for why, names in OS_LACKS.items() for name in names.split()}

add_to_os()
for name, text in LACKING.items():
    if hasattr(os, name):
        setattr(os, name, raiser(name, OSError, errno.ENOTSUP, text))
os.__getattr__ = guest["lacking"]("os", LACKING)

# ---- small things elsewhere ----
import hashlib
import signal
import time

time.thread_time, time.thread_time_ns = time.process_time, time.process_time_ns
_clock_info = time.get_clock_info


def get_clock_info(name, /):
    """Get information of the specified clock."""
    return _clock_info("process_time" if name == "thread_time" else name)


get_clock_info.__module__ = "time"
time.get_clock_info = get_clock_info
signal.__getattr__ = guest["lacking"]("signal", {
    name: words(f"signal.{name}", "nothing sends signals but the program itself")
    for name in "alarm setitimer getitimer pause pthread_kill sigwait sigwaitinfo sigtimedwait pthread_sigmask siginterrupt "
                "ITIMER_REAL set_wakeup_fd".split() if not hasattr(signal, name)})
hashlib.__getattr__ = guest["lacking"]("hashlib", {"scrypt": words("hashlib.scrypt", "OpenSSL is not part of it")})


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """Password based key derivation function 2 (PKCS #5 v2.0) with HMAC as pseudorandom function."""
    if not isinstance(hash_name, str):
        raise TypeError(f"pbkdf2_hmac() argument 'hash_name' must be str, not {type(hash_name).__name__}")
    inner, outer = hashlib.new(hash_name), hashlib.new(hash_name)
    length = inner.digest_size if dklen is None else dklen
    if iterations < 1 or length < 1:
        raise ValueError("iteration value must be greater than 0." if iterations < 1 else "key length must be greater than 0.")
    key = bytes(password)
    key = (hashlib.new(hash_name, key).digest() if len(key) > inner.block_size else key).ljust(inner.block_size, b"\0")
    inner.update(bytes(b ^ 0x36 for b in key))
    outer.update(bytes(b ^ 0x5C for b in key))

    def mac(data):
        one, two = inner.copy(), outer.copy()
        one.update(data)
        two.update(one.digest())
        return two.digest()

    result, block = b"", 0
    while len(result) < length:
        block += 1
        last = mac(bytes(salt) + block.to_bytes(4, "big"))
        total = int.from_bytes(last, "big")
        for _ in range(iterations - 1):
            last = mac(last)
            total ^= int.from_bytes(last, "big")
        result += total.to_bytes(inner.digest_size, "big")
    return result[:length]


pbkdf2_hmac.__module__ = "hashlib"
hashlib.pbkdf2_hmac = pbkdf2_hmac
hashlib.__all__ += ("pbkdf2_hmac",) if "pbkdf2_hmac" not in hashlib.__all__ else ()

# ---- shutil ----
import shutil


def disk_usage(path):
    """Return disk usage statistics about the given path: files lie in memory, of which 32 bits can address so much."""
    os.stat(path)
    used = guest["memory"]()
    return shutil._ntuple_diskusage(1 << 32, used, (1 << 32) - used)


disk_usage.__module__ = "shutil"
shutil._ntuple_diskusage = __import__("collections").namedtuple("usage", "total used free")
shutil.disk_usage = disk_usage
shutil.__all__.append("disk_usage")

# ---- modules ----
MODULES = {
    NO_PROCESSES: "_multiprocessing _posixsubprocess _posixshmem pty",
    NO_NETWORK: "ssl _ssl",
    "it has no terminal": "termios tty curses _curses readline",
    "it has no screen": "tkinter _tkinter turtle idlelib",
    "it has no users": "pwd grp spwd",
    "it has no such calls": "fcntl resource mmap syslog",
    NO_LIBRARY: "bz2 _bz2 lzma _lzma sqlite3 _sqlite3 ctypes _ctypes dbm.gnu dbm.ndbm dbm.sqlite3 venv ensurepip pip",
    "it has the standard library only": "numpy pandas matplotlib scipy openpyxl",
}
MISSING = {name: why for why, names in MODULES.items() for name in names.split()}


class Lacks:
    """The last finder: for an import that is about to fail (not for one who only asks), says why."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        why = MISSING.get(name)
        if why and sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
            raise ModuleNotFoundError(f"No module named {name!r}: " + words(name, why), name=name)
        return None


Lacks.__module__ = "_frozen_importlib_external"
sys.meta_path.append(Lacks)
