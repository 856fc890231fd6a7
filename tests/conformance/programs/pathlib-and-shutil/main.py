import os
import shutil
from pathlib import Path

base = Path("a/b")
base.mkdir(parents=True)
(base / "one.txt").write_text("1")
shutil.copy(base / "one.txt", base / "two.txt")
shutil.move(base / "two.txt", "a/three.txt")
print(sorted(str(p) for p in Path("a").rglob("*")))
os.chmod("a/three.txt", 0o600)
os.utime("a/three.txt", (1e9, 1e9))
st = os.stat("a/three.txt")
print(oct(st.st_mode), int(st.st_mtime), st.st_size)
shutil.make_archive("pack", "zip", "a")
shutil.rmtree("a")
print(sorted(os.listdir(".")), shutil.disk_usage(".").total > 0)
