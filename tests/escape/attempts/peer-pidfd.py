# Takes a descriptor of the process at the other end of its sockets, which is the machinery, and uses it.
from esc import *

need_x86_64()
import array
import fcntl
import select
import signal
import socket
import stat

SO_PEERPIDFD, SO_PASSPIDFD = 77, 76
tried = 0
for fd in (0, 1, 2, *range(3, 1024)):
    try:
        if not stat.S_ISSOCK(os.fstat(fd).st_mode):
            continue
    except OSError:
        continue
    s = socket.socket(fileno=os.dup(fd))
    pid = array.array("i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    contained("credentials of %d" % fd, "pid %d" % pid)
    try:
        peer = s.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as e:
        contained("SO_PEERPIDFD", reason(e))
        continue
    tried += 1
    for number in (0, signal.SIGSTOP, signal.SIGKILL):
        attempt("signal %d" % number, signal.pidfd_send_signal, peer, number)
    for flags in (1, 2, 4):  # of a thread, of a process group
        call("pidfd_send_signal", peer, signal.SIGKILL, 0, flags)
    for number in (0, 3, 4, 5):
        call("pidfd_getfd", peer, number, 0)
    for kind in (0, 0x20000, 0x10000000, 0x20000000, 0x40000000):
        call("setns", peer, kind)
    call("process_madvise", peer, 0, 0, 9, 0)
    call("process_mrelease", peer, 0)
    call("process_vm_readv", peer, 0, 0, 0, 0, 0)
    for request in range(0xFF01, 0xFF0C):  # its namespaces, its facts
        attempt("ioctl %x" % request, fcntl.ioctl, peer, request, 0)
    attempt("wait", os.waitid, os.P_PIDFD, peer, os.WEXITED | os.WNOHANG)
    with open("/proc/self/fdinfo/%d" % peer) as f:
        pid = re.search(r"^Pid:\s*(-?\d+)", f.read(), re.M)
    contained("its pid", pid[1]) if pid and int(pid[1]) <= 0 else escaped("its pid", pid)
    poll = select.poll()
    poll.register(peer)
    escaped("it has ended") if poll.poll(0) else contained("poll", "it lives")
contained("descriptors of the machinery", "%d tried" % tried)
