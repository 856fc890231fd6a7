import os

open("ok.txt", "w").write("ok")
open("closed.txt", "w").write("closed")
os.chmod("closed.txt", 0)
os.mkdir("shut")
open("shut/in.txt", "w").write("in")
os.chmod("shut", 0)
