# Jumps into data.
# expect: {"status": "failed", "reason": "signal", "signal": [11, 4, 7]}
import ctypes

ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.create_string_buffer(b"\x0f\x0b" * 8)))()
