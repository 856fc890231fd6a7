with open("big.bin", "wb") as f:
    for _ in range(1000):
        f.write(bytes(1 << 20))
