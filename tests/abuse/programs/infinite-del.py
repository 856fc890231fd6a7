# Objects that make new ones when they die.
# expect: {"status": ["timed_out", "failed", "succeeded"], "reason": ["wall_time", "signal", "memory", "exit", "exception"], "limits": {"wallMs": 3000, "memoryBytes": 268435456, "stderrBytes": 65536}, "stdout": {}, "stderr": {}, "truncated": "any ending"}
class Hydra:
    def __del__(self):
        Hydra()


Hydra()
print("never reached, or reached once the recursion ends")
