open("half.csv", "w").write("a\n")
raise SystemExit(2)
