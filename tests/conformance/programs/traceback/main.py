def ratio(a, b):
    return a / b


def report(values):
    return [ratio(v, v - 3) for v in values]


print("before")
report([1, 2, 3])
