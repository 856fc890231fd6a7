import threading


def work():
    raise LookupError("in thread")


t = threading.Thread(target=work, name="worker")
t.start()
t.join()
print("main goes on")
