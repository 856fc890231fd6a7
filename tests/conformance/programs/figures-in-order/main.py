import matplotlib.pyplot as plt

for width in (1, 2, 3):
    plt.figure(figsize=(width, 1), dpi=100)
    plt.plot([width])
plt.figure(1)
