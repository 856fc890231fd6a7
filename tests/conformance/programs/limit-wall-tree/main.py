import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3); open("canary", "w").write("alive"); os._exit(0)
    os._exit(0)
print("parent up", flush=True)
time.sleep(60)
