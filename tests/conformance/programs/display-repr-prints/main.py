class A:
    def __repr__(self):
        print('side')
        return 'A!'


A()
