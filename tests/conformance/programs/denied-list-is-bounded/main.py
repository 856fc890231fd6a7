import socket

for n in range(5000):
    try:
        socket.socket(socket.AF_INET).connect(("198.51.100.%d" % (n % 250), n + 1))
    except OSError:
        pass
print("done")
