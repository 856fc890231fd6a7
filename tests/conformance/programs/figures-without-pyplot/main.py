import sys

from matplotlib.figure import Figure

saved, left = Figure(), Figure()
for figure in saved, left:
    figure.subplots().plot([1, 2])
saved.savefig('mine.png')
print('matplotlib.pyplot' in sys.modules)
