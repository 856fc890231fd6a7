# exit: 139
"""Recursion that Python does not count ends in a trap at the end of the stack, and overwrites nothing."""
deep = ()
for _ in range(300_000):
    deep = (deep,)
print("up", flush=True)
hash(deep)
print("never")
