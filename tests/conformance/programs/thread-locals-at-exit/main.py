import threading
import time


class Slow:
    def __del__(self):
        time.sleep(0.3)
        print("finaliser of a local")


local = threading.local()


def work():
    local.slow = Slow()


threading.Thread(target=work).start()
while threading.active_count() > 1:
    time.sleep(0.001)
print("main")
