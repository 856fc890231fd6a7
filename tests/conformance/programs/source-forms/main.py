if True:
	x = '''a
b'''
	print(repr(x))
print('end')