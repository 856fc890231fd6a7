# Takes its own restrictions off.
from esc import *

need_x86_64()
import socket

for name, arguments in (("no_new_privs off", (38, 0, 0, 0, 0)), ("seccomp off", (22, 0, 0, 0, 0)), ("seccomp strict", (22, 1, 0, 0, 0)),
                        ("set mm", (35, 9, 0, 0, 0)), ("set ptracer any", (0x59616d61, -1, 0, 0, 0)), ("speculation", (53, 0, 2, 0, 0)), ("tsc", (26, 1, 0, 0, 0))):
    if name == "seccomp strict":
        continue  # would only end the program
    got, number = raw("prctl", *arguments)
    contained("prctl " + name, errno.errorcode[number]) if got == -1 else contained("prctl " + name, "accepted; checked below")
status = open("/proc/self/status").read()
if "NoNewPrivs:\t1" not in status or "Seccomp:\t2" not in status:
    escaped("restrictions are off", [line for line in status.splitlines() if "Privs" in line or "Seccomp" in line])
attempt("a network socket afterwards", socket.socket, socket.AF_INET)
