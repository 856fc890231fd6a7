# Differences of two long texts.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import difflib

a = [str(i % 97) for i in range(20000)]
b = [str(i % 89) for i in range(20000)]
print(len(list(difflib.ndiff(a, b))))
