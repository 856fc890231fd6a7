import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
rows = pd.DataFrame({"key": rng.integers(0, 50, 10_000), "value": rng.random(10_000)})
print(rows.groupby("key").value.agg(["mean", "sum", "count"]).head(3))
