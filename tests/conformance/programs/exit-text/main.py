import sys

sys.exit("could not go on: é")
