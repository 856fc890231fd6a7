import os
import signal

children = []
try:
    while len(children) < 1000:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except BlockingIOError as e:
    print("limit reached:", 1 <= len(children) < 20)
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
if os.fork() == 0:
    os._exit(0)
print(os.wait()[1])
