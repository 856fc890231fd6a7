import concurrent.futures
import queue
import threading

q, lock, local, total = queue.Queue(), threading.Lock(), threading.local(), [0]


def add(n):
    local.n = n
    with lock:
        total[0] += local.n
    q.put(n)
    return n * n


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(add, range(100))), total[0], q.qsize())
print(threading.active_count(), threading.current_thread() is threading.main_thread())
