"""The frames of src/providers/wasm/frames.h as a worker sends them, right or wrong."""
import array
import fcntl
import os
import socket
import struct

HELLO, GO, READY, FATAL, CALL, BEGAN, OUTPUT, FILE, DONE = range(1, 10)
CALL_N = 72
F_ADD_SEALS = 1033
SEALS = 0xf  # seal, shrink, grow, write
CHUNK_MAX = 65536


class Worker:
    def __init__(self):
        config = os.read(3, 4096)
        self.version, _, self.cgroup_n, _ = struct.unpack_from("=IIIi", config)
        self.sock = socket.socket(fileno=4)
        self.serial = 0

    def send(self, data, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.sock.sendmsg([data], control)

    def take(self):
        """A frame and its descriptors; None when the provider has closed."""
        data, control, _, _ = self.sock.recvmsg(4096, socket.CMSG_SPACE(16))
        fds = array.array("i")
        for _, _, raw in control:
            fds.frombytes(raw[:len(raw) - len(raw) % 4])
        return (data, list(fds)) if data else None

    def join(self):
        for i in range(self.cgroup_n):
            os.write(6 + i, b"0")

    def hello(self, version=None):
        self.send(struct.pack("=II", HELLO, self.version if version is None else version))

    def ready(self):
        self.send(struct.pack("=II65s7s", READY, 0xf, b"0" * 64, b""))

    def fatal(self, text):
        self.send(struct.pack("=Ii200s", FATAL, 0, text))

    def began(self, serial=None):
        self.send(struct.pack("=IIQ", BEGAN, 0, self.serial if serial is None else serial))

    def output(self, data, is_stderr=0, dropped=0, n=None, serial=None):
        head = struct.pack("=IIQII", OUTPUT, is_stderr, self.serial if serial is None else serial,
                           len(data) if n is None else n, dropped)
        self.send(head + data)

    def file(self, name, fds=(), size=0, n=None):
        head = struct.pack("=IIQQ", FILE, len(name) if n is None else n, self.serial, size)
        self.send(head + name, fds)

    def done(self, end=0, word=0, full=0, fuel=1, memory=1 << 20, wall=1, cpu=1, failed=0, serial=None):
        self.send(struct.pack("=IIQiIQQQQIIII", DONE, end, self.serial if serial is None else serial, word, full, fuel,
                              memory, wall, cpu, 0, 0, failed, 0))


def memfd(data=b"x", size=None, seals=SEALS):
    fd = os.memfd_create("fake", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    if size is not None:
        os.ftruncate(fd, size)
    if seals:
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return fd
