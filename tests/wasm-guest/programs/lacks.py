"""What is not there says so, in words, as an ordinary exception of the kind that programs expect."""
import _thread
import concurrent.futures
import http.client
import importlib
import importlib.util
import multiprocessing
import os
import socket
import subprocess
import threading
import urllib.request
from multiprocessing.pool import ThreadPool

CALLS = {
    "threads": [lambda: threading.Thread(target=print).start(), lambda: threading.Timer(1, print).start(),
                lambda: _thread.start_new_thread(print, ()), lambda: concurrent.futures.ThreadPoolExecutor().submit(print),
                lambda: ThreadPool(2)],
    "processes": [lambda: subprocess.run(["ls"]), lambda: subprocess.check_output("ls", shell=True), lambda: os.popen("ls"),
                  lambda: os.system("ls"), lambda: os.fork(), lambda: os.kill(1, 9), lambda: multiprocessing.Pool(2),
                  lambda: multiprocessing.Process(target=print).start(), lambda: multiprocessing.Queue(),
                  lambda: multiprocessing.get_context("spawn").Lock(), concurrent.futures.ProcessPoolExecutor],
    "network": [socket.socket, lambda: socket.create_connection(("example.com", 80)), socket.socketpair,
                lambda: socket.getaddrinfo("example.com", 80), lambda: socket.gethostbyname("example.com"),
                lambda: urllib.request.urlopen("http://example.com"), lambda: urllib.request.urlopen("https://example.com"),
                lambda: http.client.HTTPSConnection("example.com").request("GET", "/")],
    "pipes": [lambda: os.pipe(), lambda: os.mkfifo("x"), lambda: os.openpty()],
}
for kind, calls in CALLS.items():
    print("-", kind)
    for call in calls:
        try:
            call()
        except (OSError, RuntimeError, AttributeError) as e:
            assert "is not available in the WebAssembly sandbox: " in str(e), e
            print(type(e).__name__, e)
        else:
            raise AssertionError(call)

print("- modules")
for name in ("bz2", "lzma", "sqlite3", "ssl", "ctypes", "tkinter", "curses", "fcntl", "mmap", "pwd", "resource", "numpy",
             "pandas", "matplotlib"):
    assert importlib.util.find_spec(name) is None, name
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as e:
        assert e.name == name and "is not available in the WebAssembly sandbox: " in str(e), e
        print(e)
try:
    import nobody_has_this
except ModuleNotFoundError as e:
    print(e)
assert not hasattr(os, "fork") and not hasattr(os, "nobody_has_this")
assert socket.gethostname() == os.uname().nodename and os.cpu_count() == 1
