import pandas as pd
x = pd.read_excel("in.xlsx", sheet_name=None)
print(list(x), x["Sheet2"].dtypes.to_dict())
x["Sheet2"].to_excel("back.xlsx", index=False); x["Sheet2"].to_csv("back.csv", index=False)
print(pd.read_excel("back.xlsx").equals(x["Sheet2"]))
