# Opens files until there are no more descriptors.
# expect: {"status": "succeeded", "stdout": "OSError True\n"}
held = []
try:
    while True:
        held.append(open("/dev/null"))
except OSError as e:
    print(type(e).__name__, len(held) < 100_000)
