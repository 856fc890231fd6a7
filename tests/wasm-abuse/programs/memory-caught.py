# A program that runs out and goes on.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"memoryBytes": 134217728, "fuel": 100000000000}, "stdout": "caught 1\ncaught 2\ncaught 3\nend\n", "stderr": ""}
for n in (1, 2, 3):
    kept = []
    try:
        while True:
            kept.append(bytearray(1 << 20))
    except MemoryError:
        del kept
        print("caught", n)
print("end")
