# 9 ** 9 ** 9: one operation in C.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "signal": null, "limits": {"fuel": 1000000000000000, "wallMs": 1500}, "stdout": {}, "stderr": {}}
print(9 ** 9 ** 9)
