def ratio(a, b):
    return a / b


(ratio(1, 1),
 ratio(1,
       0))
