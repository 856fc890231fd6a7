import os
import subprocess

with open("tool.sh", "w") as f:
    f.write("#!/bin/sh\necho hello\n")
os.chmod("tool.sh", 0o755)
subprocess.run(["./tool.sh"])
