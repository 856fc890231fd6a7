# Prints too much when it ends.
# expect: {"status": "failed", "reason": "output", "limits": {"fuel": 1000000000000, "wallMs": 60000, "stdoutBytes": 100000, "stderrBytes": 50000, "stopOnOutput": true}, "stdout": {"bytes": 100000}, "stderr": "", "truncated": {"stdout": true}}
import atexit

atexit.register(lambda: print("x" * 10 ** 7))
