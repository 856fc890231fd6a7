import inspect
import pickle
import sys


class A:
    pass


me = sys.modules['__main__']
(__name__, __file__ == me.__file__, sys._getframe().f_back, sys._getframe().f_lineno, sys._getframe().f_globals is vars(me),
 type(pickle.loads(pickle.dumps(A()))) is A, 'def ' in inspect.getsource(A), sys.displayhook is sys.__displayhook__)
