try:
    bytearray(1 << 46)
except MemoryError:
    print("too much")
