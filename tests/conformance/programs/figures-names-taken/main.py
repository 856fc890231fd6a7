import matplotlib.pyplot as plt

import os

open('figure-2.png', 'w').write('mine')
os.symlink('nowhere', 'figure-3.png')
os.mkdir('figure-4.png')
plt.plot([1])
plt.show()
print(sorted(os.listdir()), open('figure-1.png').read())
