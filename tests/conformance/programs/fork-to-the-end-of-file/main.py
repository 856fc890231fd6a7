# A forked child that does not call os._exit runs on to the end of the file: the program is not over then.
import os
import sys

pid = os.fork()
if pid == 0:
    print("child", flush=True)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
pid = os.fork()
if pid:
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    print("parent")
