import subprocess

print(subprocess.check_output("ls -l", shell=True))
