import numpy as np

a = []
while True:
    a.append(np.ones(1 << 20))
