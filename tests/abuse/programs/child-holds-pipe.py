# A child in a new session holds the pipe and sleeps.
# expect: {"status": "succeeded", "stdout": "launched\n", "durationMsBelow": 30000}
import subprocess
import sys

subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
print("launched")
