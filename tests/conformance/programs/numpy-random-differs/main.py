import numpy as np

print(np.random.random(), np.random.randint(1 << 30))
