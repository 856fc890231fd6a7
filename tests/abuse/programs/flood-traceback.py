# A chain of thousands of exceptions.
# expect: {"status": ["failed"], "reason": ["exception", "signal"], "stderr": {}, "limits": {"wallMs": 30000, "stderrBytes": 10485760}}
e = None
for n in range(5000):
    try:
        try:
            raise ValueError(n)
        except ValueError as new:
            new.__context__ = e
            raise new
    except ValueError as caught:
        e = caught
raise e
