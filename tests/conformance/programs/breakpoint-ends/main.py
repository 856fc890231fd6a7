breakpoint()
x = 1
