# A child aborts, its parent goes on.
# expect: {"status": "succeeded", "stdout": "-6\n"}
import os

if os.fork() == 0:
    os.abort()
print(os.waitstatus_to_exitcode(os.wait()[1]))
