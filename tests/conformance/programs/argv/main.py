import os
import sys

print(len(sys.argv), os.path.basename(sys.argv[0]), sys.argv[1:])
