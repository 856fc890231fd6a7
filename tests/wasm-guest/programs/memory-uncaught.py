# memory: 96
# exit: 137
# stderr: MemoryError
"""Not handled, it is the memory limit that ended the program."""
print("up", flush=True)
kept = []
while True:
    kept.append(bytes(100_000))
