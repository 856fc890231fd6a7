f = open("out.txt", "w")
f.write("kept " * 3)
