# Asks for the largest room in its sockets and fills them all; nobody reads.
# expect: {"status": ["succeeded", "failed"], "reason": ["exit", "memory"], "limits": {"memoryBytes": 134217728, "wallMs": 60000}}
import socket

held, total = [], 0
try:
    while True:
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        held += [a, b]
        for s in (a, b):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
            s.setblocking(False)
            try:
                while True:
                    total += s.send(bytes(60_000))
            except BlockingIOError:
                pass
except OSError:
    pass
assert total < 256 << 20, total
