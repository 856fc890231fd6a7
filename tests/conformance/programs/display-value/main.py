x = 41
x  # not the last one
x + 1  # shown;
# the end ;
