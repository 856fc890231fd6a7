import errno
import os

try:
    with open("big.bin", "wb") as f:
        while True:
            f.write(bytes(1 << 20))
except OSError as e:
    print(errno.errorcode[e.errno])
os.remove("big.bin")
open("small.txt", "w").write("fits again")
