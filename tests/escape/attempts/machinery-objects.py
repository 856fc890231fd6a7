# Looks for the machinery inside its own interpreter.
from esc import *

import gc

frames = sys._current_frames()
for frame in frames.values():
    while frame is not None:
        if "boot" in frame.f_code.co_filename or "mayfly" in frame.f_code.co_filename:
            escaped("a frame of the machinery", frame)
        frame = frame.f_back
contained("frames", "only its own")
for name in ("_mayfly", "boot", "mayfly"):
    attempt("import " + name, __import__, name)
modules = [m for m in gc.get_objects() if isinstance(m, type(sys)) and "mayfly" in getattr(m, "__name__", "")]
escaped("a module of the machinery", modules) if modules else contained("modules", "none of the machinery")
attempt("read the machinery's code", lambda: open("/opt/mayfly/_mayfly.so", "r+b"))
