class A:
    def __repr__(self):
        raise ValueError('no repr')


A()
