import pandas as pd

df = pd.DataFrame({"city": ["Bern", "Łódź", "Bern", "Łódź"], "n": [1, 2, 3, 4],
                   "day": pd.date_range("2026-01-01", periods=4, freq="12h")})
print(df.groupby("city").n.agg(["sum", "mean"]))
print(df.pivot_table(index=df.day.dt.date, columns="city", values="n", aggfunc="sum").fillna(0).to_string())
print(df.merge(pd.DataFrame({"city": ["Bern"], "code": ["BE"]}), on="city", how="left").code.tolist())
print(df.set_index("day").n.resample("D").sum().tolist(), df.n.describe()["std"].round(3))
