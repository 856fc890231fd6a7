import random

random.seed(7)
open("big.bin", "wb").write(random.randbytes(20 * 1024 * 1024))
