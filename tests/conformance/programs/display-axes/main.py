import matplotlib.pyplot as plt

figure = plt.figure(figsize=(2, 1), dpi=100)
axes = figure.subfigures(1, 2)[0].subplots()
axes.plot([1, 2])
plt.close(figure)
axes
