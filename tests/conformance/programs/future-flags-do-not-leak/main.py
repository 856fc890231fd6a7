def f(x: 1 + 1): ...


print(f.__annotations__)
try:
    exec("def g(x: not_defined): ...")
except NameError as e:
    print(e)
