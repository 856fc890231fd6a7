# Twenty busy threads.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "limits": {"wallMs": 1000}}
import threading


def work():
    while True:
        pass


for _ in range(20):
    threading.Thread(target=work).start()
