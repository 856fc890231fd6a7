import matplotlib.pyplot as plt

import threading


def draw(width, show):
    plt.figure(figsize=(width, 1), dpi=100)
    plt.plot([1, 2])
    if show:
        plt.show()


for width, show in ((1, True), (2, False)):
    thread = threading.Thread(target=draw, args=(width, show))
    thread.start()
    thread.join()
print(plt.get_fignums())
