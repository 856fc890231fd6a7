# A finder that imports inside an import.
# expect: {"status": "failed", "reason": ["exception", "signal", "memory"], "limits": {"wallMs": 30000}, "stderr": {}, "truncated": "any ending"}
import importlib
import sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.import_module("other_" + str(len(name)) + name[-3:])


sys.meta_path.insert(0, Finder())
import missing_module
