# A task that leaves all the traces it can.
import builtins
import json
import os
import random
import signal
import sys
import tempfile

TRACE = "mf-trace-" + "ab" * 16
for folder in ("/mnt/data", "/tmp", "/dev/shm", "/mnt/tmp", "/mnt/shm", "/mnt/task", "/mnt", os.environ.get("HOME", "/tmp"), os.environ.get("MPLCONFIGDIR", "/tmp")):
    try:
        open(os.path.join(folder, TRACE), "w").write(TRACE)
    except OSError:
        pass
builtins.mf_trace = TRACE
json.dumps = lambda *a, **k: TRACE
sys.modules["mf_trace"] = json
sys.path.append("/mf-trace")
os.environ["MF_TRACE"] = TRACE
os.umask(0)
random.seed(1)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
tempfile.tempdir = "/mf-trace"
held = [TRACE.encode() * 1000 for _ in range(1000)]
try:
    import numpy
    numpy.random.seed(1)
    numpy.mf_trace = TRACE
    numpy.set_printoptions(precision=1)
    import pandas
    pandas.mf_trace = TRACE
    pandas.set_option("display.max_rows", 3)
except ImportError:
    pass
try:
    from multiprocessing import shared_memory
    s = shared_memory.SharedMemory("mf_trace", create=True, size=4096)
    s.buf[:9] = b"mf-trace-"
except OSError:
    pass
import ctypes
libc = ctypes.CDLL(None)
libc.syscall(29, 0x6d66, 4096, 0o1666)
libc.syscall(68, 0x6d66, 0o1666)
libc.syscall(64, 0x6d66, 1, 0o1666)
libc.syscall(240, b"mf-trace", 0o102, 0o666, None)
print("traces left")
builtins.len = lambda x: 12345
sys.stdout.flush()
os._exit(0)
