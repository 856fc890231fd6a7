import subprocess
import sys

p = subprocess.run([sys.executable, "-c", "import sys; print(sys.argv[1:], sys.stdin.read())", "a b"], input="in", text=True,
                   capture_output=True)
print(p.stdout, end="")
print(subprocess.run([sys.executable, "-c", "raise SystemExit(5)"]).returncode)
p = subprocess.run([sys.executable, "-c", "1/0"], capture_output=True, text=True)
print(p.returncode, p.stderr.splitlines()[-1])
try:
    subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.3)
except subprocess.TimeoutExpired:
    print("timed out")
p = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
p.terminate()
print(p.wait())
