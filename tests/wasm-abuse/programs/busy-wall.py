# The same loop with all the fuel in the world.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "signal": null, "limits": {"fuel": 1000000000000000, "wallMs": 1500}, "stdout": {}, "stderr": {}}
while True:
    pass
