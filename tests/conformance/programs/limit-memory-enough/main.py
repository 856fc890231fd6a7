a = bytearray(200_000_000)
for i in range(0, len(a), 4096):
    a[i] = 1
print(len(a))
