# A search that is quadratic.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
needle = "a" * 200000 + "b" + "a" * 200000
haystack = ("a" * 400000 + "c") * 40
for i in range(10 ** 9):
    haystack.count(needle, i % 7)
