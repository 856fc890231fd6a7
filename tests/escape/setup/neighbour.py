# A task that runs beside the attempt and offers everything that a neighbour could reach.
import os
import socket
import threading
import time

NAME = "mf-neighbour-" + "cd" * 8
for folder in ("/mnt/data", "/tmp", "/dev/shm"):
    open(os.path.join(folder, NAME), "w").write("mf-neighbour-secret")
listeners = []
for address in ("\0" + NAME, "/tmp/" + NAME + ".sock", "/dev/shm/" + NAME + ".sock"):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.bind(address)
        s.listen()
        listeners.append(s)
        threading.Thread(target=lambda s=s: print("CONNECTED", s.accept(), flush=True), daemon=True).start()
    except OSError as e:
        print("bind", e)
print("ready", os.getpid(), flush=True)
time.sleep(120)
