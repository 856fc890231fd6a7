import sys

sys.stdout.write("ab" + "☕" * 400_000)
