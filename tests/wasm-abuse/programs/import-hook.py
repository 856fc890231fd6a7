# A finder that never finds.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        while True:
            pass


sys.meta_path.insert(0, Finder())
import not_there
