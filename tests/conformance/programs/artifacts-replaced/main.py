import os

open("a.txt", "w").write("first")
open("a.txt", "w").write("second")
open("gone.txt", "w").write("x")
os.remove("gone.txt")
os.mkdir("was-file")
