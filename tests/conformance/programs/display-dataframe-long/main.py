import pandas as pd

pd.DataFrame({'n': range(1000)})
