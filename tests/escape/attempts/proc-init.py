# Reaches into the first process of its own namespace, which shares memory with the machinery.
from esc import *

for pid in OTHERS:
    for name, mode in (("mem", "rb"), ("mem", "r+b"), ("environ", "rb"), ("maps", "rb"), ("auxv", "rb"), ("syscall", "rb"), ("personality", "rb"),
                       ("clear_refs", "wb"), ("oom_score_adj", "wb"), ("coredump_filter", "wb"), ("uid_map", "wb"), ("setgroups", "wb"),
                       ("timerslack_ns", "wb"), ("attr/current", "wb"), ("pagemap", "rb")):
        path = "/proc/%d/%s" % (pid, name)
        try:
            with open(path, mode, buffering=0) as f:
                if "w" in mode:
                    f.write(b"0")
                    escaped("wrote " + path)
                elif "+" in mode:
                    f.seek(0x400000)
                    f.write(b"x")
                    escaped("wrote " + path)
                else:
                    data = f.read(4096)
                    escaped("read " + path, data[:60]) if data else contained("read " + path, "empty")
        except OSError as e:
            contained("%s %s" % (mode, path), reason(e))
    for name in ("root", "cwd", "exe", "ns/mnt", "ns/user"):
        attempt("readlink /proc/%d/%s" % (pid, name), os.readlink, "/proc/%d/%s" % (pid, name))
        attempt("open /proc/%d/%s" % (pid, name), os.open, "/proc/%d/%s" % (pid, name), os.O_RDONLY)
    attempt("list /proc/%d/fd" % pid, os.listdir, "/proc/%d/fd" % pid)
    attempt("list /proc/%d/map_files" % pid, os.listdir, "/proc/%d/map_files" % pid)
