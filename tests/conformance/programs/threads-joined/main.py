import threading
import time


def work(n):
    time.sleep(0.02 * n)
    print("thread", n, flush=True)


for n in (1, 2, 3):
    threading.Thread(target=work, args=(n,)).start()
print("main ends", flush=True)
