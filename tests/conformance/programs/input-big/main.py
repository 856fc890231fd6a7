import hashlib
import os

for name in sorted(os.listdir(".")):
    data = open(name, "rb").read()
    print(name, len(data), hashlib.sha256(data).hexdigest())
