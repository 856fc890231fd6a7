# A recursion in Python.
# expect: {"status": "failed", "reason": "exception", "exitCode": 1, "stdout": "", "stderr": {"contains": ["RecursionError"]}}
def f():
    return f()


f()
