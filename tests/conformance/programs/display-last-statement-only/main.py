1
'two'
x = 3
