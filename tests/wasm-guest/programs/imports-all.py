"""Every module of the library that is there can be imported."""
import _imp
import importlib
import io
import sys
import warnings

warnings.simplefilter("ignore")
# Those that are programs, say something, or need what the guest has not got and tells so.
LEFT_OUT = {"this", "idlelib", "multiprocessing.popen_fork", "multiprocessing.popen_forkserver",
            "multiprocessing.popen_spawn_posix", "multiprocessing.popen_spawn_win32", "multiprocessing.resource_sharer",
            "multiprocessing.shared_memory", "multiprocessing.forkserver"}
names = [n for n in _imp._frozen_module_names() if n not in LEFT_OUT and not n.startswith(("__", "_pyrepl"))
         and not n.endswith("__main__")]
failed = []
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as e:
        if "WebAssembly sandbox" not in str(e):
            failed.append((name, str(e)))
assert not failed, failed
assert len(names) > 400, len(names)
print("imported")
