import os

for where, folders, names in os.walk("."):
    folders.sort()
    for name in sorted(names):
        path = os.path.join(where, name)
        print(ascii(path if len(path) < 100 else f"{path[:4]}...{len(path)}"), open(path).read())
