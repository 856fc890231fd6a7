import matplotlib.pyplot as plt

a, axes = plt.subplots(figsize=(1, 1), dpi=100)
a.show()
first = open('figure-1.png', 'rb').read()
b, other = plt.subplots(figsize=(2, 1), dpi=100)
other.plot([1])
a.show()
print(first == open('figure-1.png', 'rb').read())
axes.plot([3, 4])
a.show()
print(first == open('figure-1.png', 'rb').read(), plt.get_fignums())
