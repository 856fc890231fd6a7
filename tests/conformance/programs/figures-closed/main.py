import matplotlib.pyplot as plt

plt.plot([1])
plt.close()
plt.figure()
plt.figure(figsize=(2, 1), dpi=100).suptitle('alone')
