# A number of ten million digits.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import sys

sys.set_int_max_str_digits(0)
int("7" * 10 ** 7)
