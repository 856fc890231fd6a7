import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(40)"], start_new_session=True)
print("launched")
