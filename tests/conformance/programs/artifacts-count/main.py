for n in range(5):
    open(f"f{n}.txt", "w").write(str(n))
