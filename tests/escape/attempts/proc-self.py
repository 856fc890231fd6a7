# What /proc/self offers cannot be used to gain anything.
from esc import *

for name, text in (("uid_map", "0 0 1"), ("gid_map", "0 0 1"), ("setgroups", "allow"), ("oom_score_adj", "-1000"), ("oom_adj", "-17"),
                   ("attr/exec", "unconfined"), ("attr/current", "unconfined"), ("sched", "0"), ("autogroup", "-20"), ("loginuid", "0"),
                   ("projid_map", "0 0 1"), ("make-it-fail", "1")):
    attempt("write /proc/self/" + name, lambda: open("/proc/self/" + name, "w").write(text))
attempt("list map_files", lambda: open("/proc/self/map_files/" + os.listdir("/proc/self/map_files")[0], "r+b"))
attempt("reopen the interpreter for writing", lambda: open("/proc/self/exe", "r+b"))
