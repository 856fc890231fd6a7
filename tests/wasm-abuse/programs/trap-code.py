# Code that Python never made.
# expect: {"status": ["failed", "succeeded"], "reason": ["signal", "exception", "exit", "memory", "fuel"], "limits": {"fuel": 2000000000}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
def f():
    pass


f.__code__ = f.__code__.replace(co_code=bytes(range(256)) * 20, co_stacksize=1)
f()
