import matplotlib
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 6, 50)
fig, axes = plt.subplots(1, 2, figsize=(6, 3))
axes[0].plot(x, np.sin(x), label=r"$\sin x$")
axes[0].legend()
axes[1].imshow(np.outer(x, x))
for kind in ("png", "svg", "pdf"):
    fig.savefig("plot." + kind)
print(matplotlib.get_backend().lower())
