import matplotlib.pyplot as plt
fig, ax = plt.subplots(); ax.plot([1, 2]); fig.savefig("mine.png")
plt.figure(); plt.plot([3, 1]); plt.title("left open")
plt.figure()  # nothing drawn
print(len(plt.get_fignums()))
