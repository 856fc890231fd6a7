try:
    exit(2)
except SystemExit as e:
    print(e.code)
quit(9)
