# Makes files until there are no more.
# expect: {"status": "failed", "reason": ["disk", "memory"], "stderr": {}, "artifactsOther": true, "rejected": {}, "limits": {"wallMs": 60000}}
n = 0
while True:
    open("f%d" % n, "w").close()
    n += 1
