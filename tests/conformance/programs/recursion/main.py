def f(n):
    return f(n + 1)


try:
    f(0)
except RecursionError as e:
    print("caught:", str(e)[:32])
nested = []
for _ in range(100_000):
    nested = [nested]
try:
    repr(nested)
except RecursionError:
    print("repr too deep")
del nested
print("end")
