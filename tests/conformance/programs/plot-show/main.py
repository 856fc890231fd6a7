import pandas as pd, matplotlib.pyplot as plt
pd.DataFrame({"n": [1, 4, 9]}).plot(); plt.show()
plt.figure(); plt.bar(["a"], [2]); plt.show()
print("end")
