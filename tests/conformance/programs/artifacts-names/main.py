import os

names = [b"with space.txt", "日本.txt".encode(), b"-dash", b".hidden", b"a\\b", b"q\"uote", "e\u0301".encode(), "\u00e9".encode(), b"n" * 255,
         b"new\nline", b"esc\x1b[31m", b"bad\xff\xfe.txt", b"del\x7f"]
for name in names:
    with open(name, "w") as f:
        f.write("x")
