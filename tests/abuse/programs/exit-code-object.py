# An exit whose text cannot be made.
# expect: {"status": "failed", "reason": ["exit", "exception"], "exitCode": 1, "stderr": {}}
import sys


class Bad:
    def __str__(self):
        raise RuntimeError("no text")


sys.exit(Bad())
