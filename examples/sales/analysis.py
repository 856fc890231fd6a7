import matplotlib.pyplot as plt
import pandas as pd

sales = pd.read_csv("sales.csv", parse_dates=["date"])
summary = sales.groupby("region").agg(orders=("amount", "size"), units=("units", "sum"), amount=("amount", "sum"))
summary = summary.sort_values("amount", ascending=False).round(2)
print(summary.to_string())
print(f"\n{len(sales)} orders, {sales['date'].min():%Y-%m-%d} to {sales['date'].max():%Y-%m-%d}")
summary.to_csv("summary.csv")

monthly = sales.pivot_table(index=sales["date"].dt.strftime("%m"), columns="region", values="amount", aggfunc="sum")
monthly.plot(marker="o", figsize=(8, 4.5), title="Monthly amount by region / 各地区月度销售额", xlabel="month", ylabel="amount")
plt.savefig("chart.png", dpi=120, bbox_inches="tight")
