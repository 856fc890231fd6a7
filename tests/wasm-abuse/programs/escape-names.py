# Names of every kind, as files.
# expect: {"status": "succeeded", "reason": "exit", "exitCode": 0, "limits": {"fuel": 100000000000}, "stdout": {"contains": ["end\n"]}, "stderr": "", "rejected": {"bad\\xff": "UTF-8", "new\\x0aline": "control", "\\x1b[31mred": "control", ".": "link", "17/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/file": "16 parts"}, "artifacts": {"good": {"text": "data"}, "a b": {}, "..x": {}, "x..": {}, "back\\slash": {}, "con": {}, "1/2/3/deep": {}, "é": {}, ".hidden": {}, "-rf": {}, "%2e%2e": {}}, "artifactsOther": true}
import os

NAMES = [b"good", b"a b", b"..x", b"x..", b"back\\slash", b"con", "é".encode(), b".hidden", b"-rf", b"%2e%2e", b"bad\xff",
         b"new\nline", b"\x1b[31mred", b"n" * 255]
for name in NAMES:
    with open(name, "wb") as f:
        f.write(b"data")
os.makedirs("1/2/3")
open("1/2/3/deep", "w").write("data")
os.makedirs("17" + "/1" * 15)
open("17" + "/1" * 15 + "/file", "w").write("data")
os.symlink("good", "link")
os.mkdir("empty")
for wrong in ("x\0y", "n" * 256, "", "a/" * 3000, "/" * 5000, "x" * 100000):
    try:
        open(wrong, "w").write("data")
    except (OSError, ValueError):
        continue
    print("made", ascii(wrong[:20]), len(wrong))
print("end")
