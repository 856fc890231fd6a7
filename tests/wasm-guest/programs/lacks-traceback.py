# exit: 1
# stderr-exact: lacks-traceback.err
"""A lack's traceback shows the program and the library, and nothing of ours."""
import threading

try:
    import numpy
except ImportError as e:
    import traceback

    traceback.print_exc()
threading.Thread(target=print).start()
