print("up")
while True:
    pass
