import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(1, 1), dpi=100)
line, = axes.plot([1, 2])
for n in range(4):
    line.set_ydata([n, 2])
    plt.pause(0.001)
plt.show(block=False)
plt.close()
plt.ion()
plt.figure(figsize=(2, 1), dpi=100)
plt.plot([1])
plt.show()
print(plt.get_fignums())
