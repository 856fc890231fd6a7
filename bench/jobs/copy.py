with open("in.csv") as f:
    text = f.read()
with open("out.csv", "w") as f:
    f.write(text.upper())
print(1)
