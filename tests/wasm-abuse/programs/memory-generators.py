# Generators within generators.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
def nest(inner):
    yield from inner


kept = iter(())
while True:
    kept = nest(kept)
