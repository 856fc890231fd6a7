import matplotlib.pyplot as plt

plt.rcParams['figure.max_open_warning'] = 0
for n in range(105):
    plt.figure(figsize=(1, 1), dpi=20).text(0.1, 0.1, str(n))
plt.show()
print(plt.get_fignums())
