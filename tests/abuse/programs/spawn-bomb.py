# Starts interpreters that start interpreters.
# expect: {"status": ["timed_out", "failed"], "reason": ["wall_time", "memory", "pids"], "limits": {"wallMs": 3000, "memoryBytes": 536870912}}
import subprocess
import sys

code = "import subprocess, sys\nwhile True:\n    try: subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[1]])\n    except OSError: pass"
subprocess.run([sys.executable, "-c", code, code], stderr=subprocess.DEVNULL)
