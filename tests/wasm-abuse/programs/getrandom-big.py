# Chance by the gigabyte: it costs time, not fuel.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "signal": null, "limits": {"fuel": 1000000000000000, "wallMs": 1500}, "stdout": {}, "stderr": {}}
import os

while True:
    os.urandom(8 << 20)
