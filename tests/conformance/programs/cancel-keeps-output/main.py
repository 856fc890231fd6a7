import time

print("so far")
open("part.txt", "w").write("part")
time.sleep(60)
