import matplotlib.pyplot as plt

plt.plot([1, 2])
plt.savefig('shown.png', dpi=50, facecolor='white')
plt.show()
plt.figure()
plt.plot([2, 1])
plt.savefig('open.svg')
