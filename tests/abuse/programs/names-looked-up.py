# Leaves tens of megabytes of looked-up names, which the kernel keeps charged to the sandbox after its end.
# expect: {"status": "succeeded", "stdout": "200000\n", "limits": {"wallMs": 60000}}
import os

n = 0
for i in range(200_000):
    try:
        os.stat("/opt/python/no-such-name-%d" % i)
    except FileNotFoundError:
        n += 1
print(n)
