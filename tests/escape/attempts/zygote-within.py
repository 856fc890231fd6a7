# Starts the machinery's own module inside the sandbox, with a configuration of its own: it has only a guest's powers.
# expect: {"anyEnd": true}
from esc import *

import importlib.machinery
import importlib.util
import resource
import socket
import struct

MODULE = "/opt/mayfly/_mayfly.so"


def load():
    loader = importlib.machinery.ExtensionFileLoader("_mayfly", MODULE)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_mayfly", loader))
    loader.exec_module(module)
    return module


def serve(version):
    """A fresh process with a socket, a configuration and the rest where a zygote has them; asks it for a guest."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    r, w = os.pipe()
    allow = struct.pack("HBBI", 6, 0, 0, 0x7FFF0000)
    os.write(w, struct.pack("<IIIIIIIIQIIII", version, 0, 0, 0, 0x3EFF, 0, 1, 1000, 1 << 20, 1, 1, 100, 0) + allow * 2)
    proc = os.open("/proc", os.O_RDONLY)
    pid = os.fork()
    if pid == 0:
        for fd, at in ((theirs.fileno(), 103), (r, 104), (proc, 105)):
            os.dup2(fd, at)
        for at in (103, 104, 105):
            os.dup2(at, at - 100, inheritable=True)
        code = ("import importlib.machinery as m, importlib.util as u\n"
                "l = m.ExtensionFileLoader('_mayfly', %r)\n"
                "x = u.module_from_spec(u.spec_from_loader('_mayfly', l)); l.exec_module(x)\n"
                "x.configure(); x.serve((), 0)\n" % MODULE)
        os.execv(sys.executable, [sys.executable, "-c", code])
    theirs.close()
    ours.settimeout(10)
    ours.send(struct.pack("<IIII", 2, 0, 0, 0))
    for _ in range(3):
        try:
            data = ours.recv(1024)
        except OSError as e:
            contained("an answer", reason(e))
            break
        if not data:
            contained("an answer", "it ended")
            break
        kind, slot, error = struct.unpack_from("<IIi", data)
        if kind == 3 and error == 0:
            escaped("a guest of a guest")
        step = data[8:72].rstrip(b"\0").decode("ascii", "replace") if kind == 5 else ""
        contained("frame of type %d" % kind, "version %d: %d %s" % (version, error, step))
    ours.close()
    os.kill(pid, 9)
    contained("its own zygote", "ended with %d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


try:
    module = load()
    contained("loaded", "a copy in its own memory: %s" % ", ".join(n for n in vars(module) if n[0] != "_"))
except Exception as e:
    contained("load", reason(e))
else:
    for name in ("fatal", "configure", "fake_fork"):
        arguments = ("step", "text") if name == "fatal" else ()
        contained(name, "ended with %d" % in_child(lambda: getattr(module, name)(*arguments) and 0))
    for version in range(2, 8):  # of the frames
        serve(version)
