import matplotlib.pyplot as plt

figure, axes = plt.subplots()
axes.plot([1, 2])
figure.savefig('mine.png')
figure
