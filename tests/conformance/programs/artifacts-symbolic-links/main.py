import os

os.symlink("/etc/passwd", "users.csv")
os.makedirs("d")
os.symlink("/", "d/root")
with open("ok.csv", "w") as f:
    f.write("x\n1\n")
