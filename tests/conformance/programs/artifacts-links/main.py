import os
os.symlink("/etc/passwd", "users.csv")
os.symlink("/proc/self/environ", "env.csv")
os.mkfifo("pipe.csv")
os.makedirs("d"); os.symlink("/", "d/root")
open("ok.csv", "w").write("x\n1\n"); os.link("ok.csv", "hard.csv"); os.symlink("ok.csv", "inner.csv")
