import pandas as pd

frame = pd.DataFrame({'name': ['周一', 'b'], 'n': [1, 2]})
frame
