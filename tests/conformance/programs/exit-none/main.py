import sys

print("a")
sys.exit()
print("b")
