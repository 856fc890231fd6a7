import time

open("part.txt", "w").write("part")
time.sleep(60)
