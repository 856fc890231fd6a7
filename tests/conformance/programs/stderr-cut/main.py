import sys

sys.stderr.write("e" * 5000)
print("done")
