# A path hook that never answers.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import sys


def hook(path):
    while True:
        pass


sys.path_hooks.insert(0, hook)
sys.path.append("/somewhere")
import not_there
