import copy
import pickle


class Point:
    def __init__(self, x):
        self.x = x


def double(v):
    return v * 2


p = pickle.loads(pickle.dumps(Point(3)))
print(type(p) is Point, p.x, Point.__module__, pickle.loads(pickle.dumps(double))(4), copy.deepcopy(p).x)
