print("up", flush=True)
print(9 ** 9 ** 9 > 0)
