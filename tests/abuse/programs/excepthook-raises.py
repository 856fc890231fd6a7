# An excepthook that fails itself.
# expect: {"status": "failed", "reason": "exception", "exitCode": 1, "stderr": {"contains": ["ValueError: shown all the same"]}}
import sys

sys.excepthook = None
raise ValueError("shown all the same")
