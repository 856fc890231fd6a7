import os

for path in ("z.txt", "a/b/c/d.txt", "a/b.txt", "a-b.txt", "a/é.txt", "deep/" + "/".join("123456789") + "/x.txt"):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write(path)
os.makedirs("empty/inside")
