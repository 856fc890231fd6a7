import pandas as pd

pd.Series([1.5, 2], name='n')
