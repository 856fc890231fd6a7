class Endless:
    def __del__(self):
        while True:
            pass


kept = Endless()
print("the end", flush=True)
