# Breaks the interpreter that runs it.
# expect: {"status": ["succeeded", "failed"], "reason": ["exit", "exception", "signal"], "stderr": {}}
import builtins
import gc
import sys

for name in list(vars(builtins)):
    if name != "print":
        delattr(builtins, name)
sys.modules.clear()
sys.stdout = None
sys.stderr = None
gc.collect()
