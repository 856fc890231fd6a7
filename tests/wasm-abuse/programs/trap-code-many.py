# Random bytes as code, many times.
# expect: {"status": ["failed", "succeeded"], "reason": ["signal", "exception", "exit", "memory", "fuel"], "limits": {"fuel": 4000000000}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
import random

random.seed(7)


def f(a=1, *b):
    x = a
    return x


base = f.__code__
for n in range(500):
    f.__code__ = base.replace(co_code=random.randbytes(64), co_stacksize=50)
    try:
        f()
    except BaseException:
        pass
