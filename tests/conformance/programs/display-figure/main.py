from matplotlib.figure import Figure

figure = Figure(figsize=(2, 1), dpi=100)
figure.subplots().plot([1, 2])
figure
