# Files in /tmp.
# expect: {"status": "failed", "reason": ["memory", "disk"], "stdout": "", "limits": {"memoryBytes": 134217728, "wallMs": 30000}, "stderr": {}}
# shmem: true
n = 0
while n < 4096:
    with open("/tmp/%d" % n, "wb") as f:
        f.write(bytes(1 << 20))
    n += 1
print("took 4 GiB")
