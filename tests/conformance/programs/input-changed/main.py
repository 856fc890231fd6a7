import os

with open("grow.txt", "a") as f:
    f.write("more\n")
same = open("same.txt").read()
open("same.txt", "w").write(same)
os.rename("move.txt", "moved.txt")
os.remove("gone.txt")
