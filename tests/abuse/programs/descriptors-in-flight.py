# Sends descriptors into socket pairs that nobody reads, up to the limit that all processes of one user share.
# expect: {"status": "succeeded", "stdout": "full\n", "limits": {"wallMs": 30000}}
# during: true
import array
import socket
import time

held = []
try:
    while len(held) < 400:
        a, b = socket.socketpair()
        held += [a, b]
        a.setblocking(False)
        try:
            while True:
                a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 250))])
        except BlockingIOError:
            pass
except OSError:
    pass
print("full", flush=True)
time.sleep(2)
