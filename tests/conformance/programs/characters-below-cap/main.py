import sys

sys.stdout.write("ab" + "☕" * 100_000)
