def opened():
    f = open('late.txt', 'w')
    f.write('late')
    return f


opened()
