# Fills pipes and socket pairs that nobody reads.
# expect: {"status": ["succeeded", "failed"], "reason": ["exit", "memory"], "limits": {"memoryBytes": 134217728, "wallMs": 30000}}
import fcntl
import os
import socket

held, total = [], 0
try:
    while True:
        r, w = os.pipe()
        held += [r, w]
        try:
            fcntl.fcntl(w, 1031, 1 << 20)
        except OSError:
            pass
        os.set_blocking(w, False)
        try:
            while True:
                total += os.write(w, bytes(65536))
        except BlockingIOError:
            pass
        a, b = socket.socketpair()
        held += [a, b]
        a.setblocking(False)
        try:
            while True:
                total += a.send(bytes(65536))
        except BlockingIOError:
            pass
except OSError as e:
    print("bounded")
