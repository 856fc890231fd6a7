# sys.stdout that never flushes.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import sys


class Out:
    def write(self, text):
        return len(text)

    def flush(self):
        while True:
            pass


sys.stdout = Out()
print("x")
