import warnings
import matplotlib.pyplot as plt
plt.plot(["周一", "周二", "周三"], [-3, 5, 2]); plt.title("最高气温 −3℃"); plt.savefig("weather.png")

import numpy as np


def drawn(character):
    fig = plt.figure(figsize=(1, 1), dpi=100)
    fig.text(0.2, 0.2, character, fontsize=40)
    fig.canvas.draw()
    pixels = np.asarray(fig.canvas.buffer_rgba()).copy()
    plt.close(fig)
    return pixels


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    missing = drawn("\uffff")
pictures = [drawn(c) for c in "周一四最℃−"]
print(all((p != missing).any() for p in pictures), all((p != 255).any() for p in pictures))
print(all((p != q).any() for i, p in enumerate(pictures) for q in pictures[:i]))
