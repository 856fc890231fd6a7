print('never')
x = '\d'
await x
