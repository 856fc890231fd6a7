# What a program must not have: each lack is a Python exception.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"fuel": 100000000000, "wallMs": 120000}, "stdout": {"contains": ["end\n"], "notContains": ["ESCAPED"]}, "stderr": "", "artifactsOther": true, "rejected": {}}
import importlib
import os
import sys

for name in ("ctypes", "_ctypes", "mmap", "_posixsubprocess", "fcntl", "termios", "pty", "resource", "_socket", "_testcapi", "_testinternalcapi",
             "_xxsubinterpreters", "_interpreters", "grp", "pwd", "syslog", "ssl", "_ssl", "sqlite3", "readline", "wasi", "guest", "_guest",
             "mayfly", "js", "pyodide", "boot", "lacks"):
    try:
        module = importlib.import_module(name)
    except ImportError:
        continue
    if name in ("ctypes", "_ctypes", "mmap", "_posixsubprocess", "_testcapi", "guest", "_guest", "boot"):
        print("ESCAPED", name, module)


def must_fail(name, what):
    try:
        got = what()
    except Exception as e:
        if not str(e):
            print("ESCAPED? an exception without words:", name, repr(e))
        return
    print("ESCAPED", name, got)


import multiprocessing
import socket
import subprocess
import threading
import _thread

must_fail("fork", lambda: os.fork())
must_fail("system", lambda: os.system("true"))
must_fail("popen", lambda: os.popen("true").read())
must_fail("execv", lambda: os.execv("/bin/true", ["true"]))
must_fail("spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
must_fail("subprocess", lambda: subprocess.run(["true"]))
must_fail("socket", lambda: socket.socket())
must_fail("connect", lambda: socket.create_connection(("127.0.0.1", 80)))
must_fail("dns", lambda: socket.getaddrinfo("localhost", 80))
must_fail("thread", lambda: threading.Thread(target=print).start())
must_fail("_thread", lambda: _thread.start_new_thread(print, ()))
must_fail("process", lambda: multiprocessing.Process(target=print).start())
must_fail("kill", lambda: os.kill(1, 9))
must_fail("kill 0", lambda: os.kill(0, 9))
must_fail("ptrace", lambda: os.ptrace())
must_fail("setuid", lambda: os.setuid(0))
must_fail("chroot", lambda: os.chroot("/"))
must_fail("memfd", lambda: os.memfd_create("x"))
must_fail("mount", lambda: os.mount("a", "b", "c"))
must_fail("pipe", lambda: os.pipe())
if dict(os.environ).keys() - {"PATH", "HOME", "LOGNAME", "LANG", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE", "TERM",
                              "OPENBLAS_NUM_THREADS", "MPLBACKEND"}:
    print("ESCAPED", dict(os.environ))
for name in ("MAYFLY", "SECRET", "TOKEN", "KEY"):
    if any(name in k for k in os.environ):
        print("ESCAPED", dict(os.environ))
print("end")
