import os
import socket

status = open("/proc/self/status").read() if os.path.exists("/proc/self/status") else ""
caps = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
print(set(caps) <= {"0000000000000000"}, os.getpid() < 10, os.getppid() < 10)
print(os.uname().nodename == socket.gethostname(), len(socket.gethostname()) > 0)
print(os.cpu_count() >= 1, len(os.sched_getaffinity(0)) >= 1)
