import subprocess

subprocess.run(["convert", "a.png", "b.jpg"])
