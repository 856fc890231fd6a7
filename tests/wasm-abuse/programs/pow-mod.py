# A modular power of huge numbers.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
print(pow(3, 1 << 200000, (1 << 200000) - 1) & 1)
