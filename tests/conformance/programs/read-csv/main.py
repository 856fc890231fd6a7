import pandas as pd

df = pd.read_csv("sales.csv")
df["total"] = df.price * df.n
print(df.total.sum(), df.dtypes.astype(str).to_dict())
df.to_csv("out.csv", index=False)
