import matplotlib.pyplot as plt

for n, title in enumerate(("first", r"$\frac{$", "third"), 1):
    plt.figure(figsize=(n, 1), dpi=100)
    plt.title(title)
print('end')
