"""Ten thousand files in one folder, removed while they are listed; deep folders."""
import os
import shutil

os.mkdir("many")
for i in range(10_000):
    with open(f"many/{i}", "w") as f:
        f.write(str(i))
assert len(os.listdir("many")) == 10_000 and open("many/9999").read() == "9999"
seen = set()
for n, e in enumerate(os.scandir("many")):
    assert e.name not in seen
    seen.add(e.name)
    if n % 2:
        os.unlink(e.path)
    if n % 100 == 0 and n < 5000:
        open(f"many/new{n}", "w").close()
assert seen >= {str(i) for i in range(10_000)}
left = os.listdir("many")
assert len(left) == len(set(left)) and 5000 <= len(left) <= 5060, len(left)
shutil.rmtree("many")
assert os.listdir() == []

depth = 0
os.chdir("/tmp")
while depth < 1500:
    os.mkdir("d")
    os.chdir("d")
    depth += 1
assert len(os.getcwd()) == len("/tmp") + 2 * depth
os.chdir("/tmp")
shutil.rmtree("d")
assert os.listdir("/tmp") == []
print(depth)
