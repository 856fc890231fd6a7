import sys

sys.displayhook = lambda value: print('mine:', value)
None
