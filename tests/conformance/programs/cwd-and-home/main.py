import os
import sys
import tempfile
from pathlib import Path

print(os.getcwd(), Path.cwd() == Path("/mnt/data"), os.listdir())
home = Path.home()
(home / ".probe").write_text("x")
print(home != Path("/"), tempfile.gettempdir(), os.environ["HOME"] == str(home))
(home / ".probe").unlink()
print(sys.flags.utf8_mode, sys.getfilesystemencoding(), sys.stdout.encoding, os.environ.get("PYTHONUTF8"))
