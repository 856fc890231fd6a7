# What another program left in the same worker, to be looked for in the next one.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"memoryBytes": 268435456}, "stdout": "left\n", "stderr": "", "artifactsOther": true}
import builtins
import os
import sys
import tempfile

builtins.left = sys.left = os.left = "left"
os.environ["LEFT"] = "left"
tempfile.mkstemp(prefix="left", dir="/tmp")
open("left", "w").write("left")
sys.setrecursionlimit(77777)
sys.modules["left"] = sys
import json

json.dumps = None
import random

random.seed(1)
kept = [b"left" * 10000 for _ in range(1000)]
print("left")
