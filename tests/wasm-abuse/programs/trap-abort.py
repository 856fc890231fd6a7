# Python ends itself.
# expect: {"status": "failed", "reason": "signal", "exitCode": null, "stdout": "", "stderr": {}}
import os

os.abort()
