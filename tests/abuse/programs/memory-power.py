# 9 ** 9 ** 9.
# expect: {"status": ["timed_out", "failed"], "reason": ["wall_time", "memory", "cpu"], "stdout": "", "limits": {"wallMs": 3000, "memoryBytes": 134217728}, "stderr": {}}
print(9 ** 9 ** 9)
