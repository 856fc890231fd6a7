# Asks for what is refused a hundred thousand times.
# expect: {"status": "succeeded", "stdout": "done\n", "limits": {"wallMs": 60000}}
import socket

for n in range(100_000):
    try:
        socket.socket(socket.AF_INET)
    except OSError:
        pass
print("done")
