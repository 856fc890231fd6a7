import threading
import time

turns = [threading.Event() for _ in range(5)]


def work(n):
    turns[n].wait()
    time.sleep(0.05)
    print("thread", n, flush=True)
    turns[n + 1].set()


for n in (1, 2, 3):
    threading.Thread(target=work, args=(n,)).start()
print("main ends", flush=True)
turns[1].set()
