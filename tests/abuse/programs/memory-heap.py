# Takes memory object by object, with threads.
# expect: {"status": "failed", "reason": "memory", "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {}}
import threading


def take():
    held = []
    while True:
        held.append(bytearray(1 << 20))


for _ in range(4):
    threading.Thread(target=take).start()
take()
