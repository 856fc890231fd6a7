def total(n):
    x = 0
    for i in range(n):
        x += i
    return x


print(total(10_000_000))
