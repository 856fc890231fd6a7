# A traceback through a module whose source never ends.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import linecache


def forever(*args, **kwargs):
    while True:
        pass


linecache.getlines = linecache.getline = linecache.updatecache = linecache.checkcache = forever
import traceback

traceback.TracebackException.format = forever
import sys

sys.excepthook = lambda *a: traceback.print_exception(*a)
1 / 0
