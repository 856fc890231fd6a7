open("before.txt", "w").write("kept")
while True:
    pass
