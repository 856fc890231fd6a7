import contextlib
import io
import sys

with contextlib.redirect_stdout(io.StringIO()) as held:
    print("held")
print("shown", repr(held.getvalue()))
sys.stdout = io.StringIO()
print("lost")
