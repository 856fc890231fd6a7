# Looks for what the task before it left: files, modules, patched functions, settings, shared memory.
# first: leave-traces
from esc import *

import builtins
import random
import tempfile

TRACE = "mf-trace-" + "ab" * 16
for where, folders, names in os.walk("/"):
    if where == "/":
        folders[:] = [f for f in folders if f not in ("proc", "sys")]
    if any("mf-trace" in n or "mf_trace" in n for n in names + folders):
        escaped("a file of the task before", where)
contained("files", "none left")
checks = {
    "a builtin": hasattr(builtins, "mf_trace") or len([]) != 0,
    "a module": "mf_trace" in sys.modules or json.dumps(1) != "1",
    "the search path": "/mf-trace" in sys.path,
    "the environment": "MF_TRACE" in os.environ,
    "the umask": os.umask(0o22) == 0,
    "the random state": random.random() == 0.13436424411240122,
    "the temporary folder": tempfile.gettempdir() != "/tmp",
}
import numpy
import pandas
checks["numpy"] = hasattr(numpy, "mf_trace") or numpy.get_printoptions()["precision"] != 8 or float(numpy.random.random()) == 0.417022004702574
checks["pandas"] = hasattr(pandas, "mf_trace") or pandas.get_option("display.max_rows") != 60
for what, found in checks.items():
    escaped(what) if found else contained(what, "as new")
from multiprocessing import shared_memory
attempt("shared memory of the task before", shared_memory.SharedMemory, "mf_trace")
