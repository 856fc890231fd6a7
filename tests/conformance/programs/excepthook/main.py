import sys

sys.excepthook = lambda t, v, tb: print("hook:", t.__name__, v, file=sys.stderr)
raise KeyError("k")
