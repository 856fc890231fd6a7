class A:
    def __repr__(self):
        while True:
            pass


print('before')
A()
