import os

os.mkdir("sub")
os.chdir("/tmp")
open("elsewhere.txt", "w").write("no")
os.chdir("/mnt/data/sub")
open("here.txt", "w").write("yes")
os.chdir("/")
