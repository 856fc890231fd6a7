import os
import tempfile

with tempfile.NamedTemporaryFile("w+") as f:
    f.write("x")
    f.flush()
    print(os.path.dirname(f.name), os.path.getsize(f.name))
with tempfile.TemporaryDirectory() as d:
    open(os.path.join(d, "in"), "w").close()
    print(os.listdir(d))
kept, path = tempfile.mkstemp()
os.write(kept, b"left behind")
print(os.listdir("."))
