# Clears the dictionary of sys and of its own module.
# expect: {"status": ["succeeded", "failed"], "reason": ["exit", "exception", "signal"], "stderr": {}}
import sys

globals().clear()
__import__("sys").__dict__.clear()
