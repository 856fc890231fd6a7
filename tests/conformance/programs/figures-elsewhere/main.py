import matplotlib.pyplot as plt

import os

os.mkdir('sub')
os.chdir('sub')
plt.figure(figsize=(1, 1), dpi=100)
plt.plot([1])
plt.show()
os.chdir('/')
plt.figure(figsize=(2, 1), dpi=100)
plt.plot([1])
