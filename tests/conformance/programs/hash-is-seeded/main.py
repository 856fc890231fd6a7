import sys

print(sys.flags.hash_randomization, hash("a") == hash("a"), hash(1), hash((1, 2)) == hash((1, 2)), len({"a", "b", "a"}))
