with open("sparse.bin", "wb") as f:
    f.truncate(1 << 33)
open("ok.txt", "w").write("ok")
