try:
    bytearray(1 << 30)
except MemoryError:
    print("too much")
print("on")
