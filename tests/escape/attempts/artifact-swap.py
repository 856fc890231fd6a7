# Swaps a file and a link for as long as it can, while the result is collected.
# expect: {"artifactTexts": ["plain", "own", ""]}
from esc import *

target = PLANTED["files"][0]
open("plain", "w").write("plain")
os.makedirs("folder")
open("folder/passwd", "w").write("own")
os.symlink("/etc", "etc")
contained("swap", "running while the result is collected")
for n in range(3):
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                os.symlink((target, "/etc/passwd", "/proc/self/environ")[n], "link-%d" % n)
                os.rename("link-%d" % n, "plain")
                open("own-%d" % n, "w").write("plain")
                os.rename("own-%d" % n, "plain")
                os.rename("folder", "old")
                os.rename("etc", "folder")
                os.rename("folder", "etc")
                os.rename("old", "folder")
            except OSError:
                pass
import time
time.sleep(0.2)
os._exit(0)
