# files: a.txt deep/er/b.txt empty linked.txt main.py
"""What is left is what was written, wherever the program went; the program's own file is not, nor what lies elsewhere."""
import os
import sys

os.makedirs("deep/er")
open("a.txt", "w").write("a")
open("deep/er/b.txt", "w").write("b")
open("empty", "w").close()
os.link("a.txt", "linked.txt")
os.symlink("a.txt", "link")
os.mkdir("folder")
open("gone.txt", "w").write("gone")
os.remove("gone.txt")
open("/tmp/elsewhere", "w").write("no")
open("main.py", "w").write("# not the program: that lies in another folder\n")
open(sys.argv[0], "a").write("# changed\n")
os.chdir("/tmp")
os._exit(0)
