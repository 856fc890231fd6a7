import matplotlib.pyplot as plt

import os

plt.plot([1])
open('mine.txt', 'w').write('x')
os.chmod('.', 0o555)
