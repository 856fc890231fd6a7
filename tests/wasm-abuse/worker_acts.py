"""What a worker does that lies: `start_…` instead of getting ready, `call_…` and `fine_…` with a call."""
import mmap
import os
import signal
import socket
import struct
import time

from worker_frames import BEGAN, CHUNK_MAX, FATAL, FILE, GO, HELLO, OUTPUT, READY, memfd


def wait(seconds=60):
    time.sleep(seconds)


# ---- at its start; each is given the worker and returns where the rest may go on ----

def start_exit(w):
    os._exit(0)


def start_signal(w):
    os.kill(os.getpid(), signal.SIGSEGV)


def start_close(w):
    w.sock.close()
    wait()


def start_garbage(w):
    w.send(os.urandom(100))
    wait()


def start_zero(w):
    w.send(bytes(8))
    wait()


def start_version(w):
    w.join()
    w.hello(version=w.version + 1)
    wait()


def start_not_joined(w):
    w.hello()
    wait()


def start_hello_twice(w):
    w.join()
    w.hello()
    w.hello()
    wait()


def start_ready_first(w):
    w.join()
    w.ready()
    wait()


def start_ready_no_end(w):
    w.join()
    w.hello()
    w.take()
    w.send(struct.pack("=II65s7s", READY, 0xf, b"0" * 65, b""))
    wait()


def start_fatal(w):
    w.fatal(b"\x1b[31mred\nlines\xff\x00after")
    wait()


def start_fatal_no_end(w):
    w.fatal(b"x" * 200)
    wait()


def start_large(w):
    w.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    w.send(bytes(100000))
    wait()


def start_descriptors(w):
    w.join()
    w.send(struct.pack("=II", HELLO, w.version), [memfd() for _ in range(200)])
    wait()


def start_after_go(w):
    w.join()
    w.hello()
    w.take()
    os._exit(1)


# ---- with a call ----

def call_exit(w, job):
    os._exit(0)


def call_exit_late(w, job):
    w.began()
    w.output(b"before\n")
    os._exit(0)


def call_abort(w, job):
    w.began()
    os.kill(os.getpid(), signal.SIGKILL)


def call_close(w, job):
    w.began()
    w.sock.close()
    wait()


def call_shutdown(w, job):
    w.began()
    w.sock.shutdown(socket.SHUT_RDWR)
    wait()


def call_garbage(w, job):
    w.began()
    for n in (1, 3, 4, 7, 63, 1000):
        w.send(os.urandom(n))
    wait()


def call_empty(w, job):
    """A packet of no bytes is what an end of file looks like."""
    w.began()
    w.send(b"")
    wait()


def call_types(w, job):
    w.began()
    w.send(struct.pack("=I", 0xffffffff) + bytes(60))
    wait()


def call_short(w, job):
    w.send(struct.pack("=IIQ", BEGAN, 0, w.serial)[:12])
    wait()


def call_long(w, job):
    w.send(struct.pack("=IIQ", BEGAN, 0, w.serial) + b"more")
    wait()


def call_large(w, job):
    w.began()
    w.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    w.output(bytes(CHUNK_MAX + 1))
    wait()


def call_downward(w, job):
    w.began()
    w.send(struct.pack("=II", GO, w.version))
    wait()


def call_hello(w, job):
    w.began()
    w.hello()
    wait()


def call_ready(w, job):
    w.began()
    w.ready()
    wait()


def call_fatal(w, job):
    w.began()
    w.fatal(b"secret of the guest")
    wait()


def call_serial(w, job):
    w.began(serial=w.serial + 1)
    wait()


def call_serial_done(w, job):
    w.began()
    w.done(serial=w.serial - 1)
    wait()


def call_serial_max(w, job):
    w.began()
    w.output(b"x", serial=2 ** 64 - 1)
    wait()


def call_began_twice(w, job):
    w.began()
    w.began()
    wait()


def call_not_begun(w, job):
    w.done()
    wait()


def call_output_first(w, job):
    w.output(b"x")
    wait()


def call_output_length(w, job):
    w.began()
    w.output(b"xyz", n=2 ** 32 - 1)
    wait()


def call_output_empty(w, job):
    w.began()
    w.output(b"")
    wait()


def call_output_stream(w, job):
    w.began()
    w.output(b"x", is_stderr=2)
    wait()


def call_output_flag(w, job):
    w.began()
    w.output(b"x", dropped=0x80000000)
    wait()


def call_output_over(w, job):
    w.began()
    for _ in range(100):
        w.output(b"x" * CHUNK_MAX)
    wait()


def call_output_dropped_twice(w, job):
    w.began()
    w.output(b"x", dropped=1)
    w.output(b"", dropped=1)
    wait()


def call_output_descriptor(w, job):
    w.began()
    w.send(struct.pack("=IIQII", OUTPUT, 0, w.serial, 1, 0) + b"x", [memfd()])
    wait()


def call_file_length(w, job):
    w.began()
    w.file(b"abc", [memfd()], n=2 ** 31)
    wait()


def call_file_name_over(w, job):
    w.began()
    w.file(b"n" * 1025, [memfd()])
    wait()


def call_file_descriptors(w, job):
    w.began()
    w.file(b"abc", [memfd(), memfd()])
    wait()


def call_file_descriptors_many(w, job):
    w.began()
    w.file(b"abc", [memfd() for _ in range(250)])
    wait()


def call_files_over(w, job):
    w.began()
    for n in range(10000):
        w.file(b"f%d" % n, size=1 << 60)
    w.done()
    wait()


def call_files_descriptors_over(w, job):
    w.began()
    fd = memfd()
    for n in range(10000):
        w.file(b"f%d" % n, [fd])
    w.done()
    wait()


def call_done_end(w, job):
    w.began()
    w.done(end=99)
    wait()


def call_done_flags(w, job):
    w.began()
    w.done(full=2)
    wait()


def call_done_memory(w, job):
    w.began()
    w.done(memory=2 ** 64 - 1)
    wait()


def call_done_time(w, job):
    w.began()
    w.done(wall=2 ** 64 - 1)
    wait()


def call_done_broken(w, job):
    w.began()
    w.done(end=7)
    wait()


def call_after_own_socket(w, job):
    """Its own end of the socket, in the socket: nobody but the kernel's collector could ever close it."""
    w.began()
    w.file(b"abc", [4])
    os._exit(0)


# What a worker may say and is believed, since it hurts nobody but the call it was given; `files_*` are refused one by one.

def fine_done_twice(w, job):
    w.began()
    w.done()
    w.done()
    wait()


def fine_output_after_done(w, job):
    w.began()
    w.done()
    w.output(b"of the one before")
    wait()


def fine_forged_word(w, job):
    w.began()
    w.output(b"forged\n")
    w.done(word=0x7fffff2a, fuel=2 ** 64 - 1, memory=4 << 30)


def fine_word_memory(w, job):
    w.began()
    w.done(word=1 | 2 << 8)


def fine_files_wrong(w, job):
    w.began()
    read_end, write_end = os.pipe()
    pair = socket.socketpair()
    epoll = os.open("/dev/null", os.O_RDONLY)
    for name, fd in ((b"a-unsealed", memfd(seals=0)), (b"b-half-sealed", memfd(seals=0x6)), (b"c-pipe", read_end),
                     (b"d-pipe", write_end), (b"e-socket", pair[0].fileno()), (b"f-null", epoll),
                     (b"g-path", os.open("/", os.O_PATH)), (b"h-folder", os.open("/", os.O_RDONLY | os.O_DIRECTORY)),
                     (b"i-regular", os.open("/proc/self/exe", os.O_RDONLY)), (b"j-own-socket", 4)):
        w.file(name, [fd], size=1)
    w.file(b"k-petabyte", [memfd(size=1 << 50)], size=1)
    w.file(b"l-good", [memfd(b"good")], size=2 ** 64 - 1)
    w.file(b"l-good", [memfd(b"another")], size=1)
    w.done()


def fine_files_names(w, job):
    w.began()
    for name in (b"..", b"../x", b"/etc/passwd", b"a/../../b", b"a//b", b"./c", b"", b"\0", b"a\0b", b"\xff\xfe", b"n" * 1024,
                 b"a/" * 500, b"new\nline", b"\x1b[31m", b"con\\..\\x", b"\xed\xa0\x80", b".", b"x/", b" "):
        w.file(name, [memfd(b"hostile")], size=7)
    w.file(b"good", [memfd(b"good")], size=4)
    w.done()


def fine_file_of_code(w, job):
    """The guest's code is a sealed memfd as well, and too large; the job is one too."""
    w.began()
    w.file(b"code", [5], size=1)
    w.file(b"job", [job], size=1)
    w.done()


def fine_job_is_sealed(w, job):
    """The provider maps the job while it looks for inputs that are as they were."""
    w.began()
    said = []
    for what in (lambda: os.ftruncate(job, 0), lambda: os.pwrite(job, b"x", 0),
                 lambda: mmap.mmap(job, 0, mmap.MAP_SHARED, mmap.PROT_WRITE | mmap.PROT_READ),
                 lambda: os.ftruncate(5, 0), lambda: os.pwrite(5, b"x", 0)):
        try:
            what()
            said.append("done")
        except (OSError, ValueError):
            said.append("refused")
    w.output(" ".join(said).encode())
    w.done()


def fine_stops(w, job):
    """Stopped: it neither ends nor speaks."""
    w.began()
    os.kill(os.getpid(), signal.SIGSTOP)
    wait()


def fine_takes_memory(w, job):
    """More than its control group allows: the kernel ends it."""
    w.began()
    kept = []
    while True:
        kept.append(bytearray(b"x") * (64 << 20))


def fine_nothing(w, job):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    w.began()
    wait(600)
