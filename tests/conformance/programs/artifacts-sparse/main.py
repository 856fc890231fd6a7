with open("sparse.bin", "wb") as f:
    f.truncate(100_000_000)
open("ok.txt", "w").write("ok")
