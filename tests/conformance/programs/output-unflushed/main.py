import sys

sys.stdout.write("out without newline")
sys.stderr.write("err without newline")
