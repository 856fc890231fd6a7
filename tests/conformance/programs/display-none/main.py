print('printed')
