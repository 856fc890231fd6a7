a = []
while True:
    a.append(" " * 1000 + str(len(a)))
