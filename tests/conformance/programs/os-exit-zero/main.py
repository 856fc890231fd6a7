import os

os.write(1, b"raw\n")
os._exit(0)
