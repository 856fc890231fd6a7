import numpy as np

print(np.random.default_rng().random())
