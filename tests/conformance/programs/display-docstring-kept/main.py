import atexit, sys; atexit.register(lambda: print(__doc__, _)); sys.version_info[0]
