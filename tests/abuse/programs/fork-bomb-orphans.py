# Forks so that every parent ends at once: orphans of orphans, in new sessions.
# expect: {"status": ["succeeded", "timed_out"], "limits": {"wallMs": 1000}}
import os

while True:
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
    except OSError:
        pass
