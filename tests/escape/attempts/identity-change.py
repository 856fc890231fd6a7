# Becomes another user.
from esc import *

need_x86_64()
for name, arguments in (("setuid", (0,)), ("setgid", (0,)), ("setresuid", (0, 0, 0)), ("setgroups", (1, (ctypes.c_int * 1)(0)))):
    before = (os.getresuid(), os.getresgid(), os.getgroups())
    got, number = raw(name, *arguments)
    if got == -1:
        contained(name, errno.errorcode[number])
    elif (os.getresuid(), os.getresgid(), os.getgroups()) == before:
        contained(name, "no change")
    else:
        escaped(name, (os.getresuid(), os.getresgid(), os.getgroups()))
raw("setfsuid", 12345)
got, _ = raw("setfsuid", -1)
contained("setfsuid", "no change") if got != 12345 else escaped("setfsuid")
