"""Searching for a byte, at each distance from where a search of sixteen at a time begins and ends."""
for length in range(70):
    for start in range(20):
        for place in {0, length // 2, length - 1} & set(range(length)):
            data = bytearray(b"a" * (start + length + 3))
            data[start + place] = data[start + length] = ord("Q")
            assert data.find(b"Q", start) == start + place, (length, start, place)
            assert data.find(b"Q", start, start + place) == -1, (length, start, place)
            assert data.index(b"Q", start, start + place + 1) == start + place
text = "a\0b" * 1000
assert text.split("\0") == ["a"] + ["ba"] * 999 + ["b"]
assert eval("f'" + "{text[0]} " * 300 + "'") == "a " * 300
print("found")
