open("a-small.txt", "w").write("a")
open("b-big.bin", "wb").write(bytes(70_000))
open("c-small.txt", "w").write("c")
