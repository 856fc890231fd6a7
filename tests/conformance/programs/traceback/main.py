def ratio(a, b):
    return a / b


def report(values):
    for v in values:
        ratio(v, v - 3)


print("before")
report([1, 2, 3])
