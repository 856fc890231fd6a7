import random

import numpy as np

random.seed(42)
np.random.seed(42)
print(random.random(), np.random.random())
