class Endless:
    def __del__(self):
        while True:
            pass


print("up", flush=True)
Endless()
print("never")
