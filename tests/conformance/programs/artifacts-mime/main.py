import base64
import gzip
import io
import json
import wave
import zipfile

open("data.csv", "w").write("a,b\n1,2\n")
open("data.tsv", "w").write("a\tb\n1\t2\n")
json.dump({"a": 1}, open("data.json", "w"))
open("page.html", "w").write("<!doctype html><html><body>x</body></html>")
open("notes.md", "w").write("# Title\n")
open("plain.txt", "w").write("text é\n")
open("empty.txt", "w").close()
open("empty.bin", "w").close()
open("script.py", "w").write("print(1)\n")
open("raw.bin", "wb").write(bytes(range(256)))
open("claims.png", "w").write("no picture at all")
open("hidden.txt", "wb").write(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))
open("dot.gif", "wb").write(b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;")
gzip.open("x.gz", "w").write(b"x")
with zipfile.ZipFile("x.zip", "w") as z:
    z.writestr("a", "b")
with wave.open("x.wav", "wb") as w:
    w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000); w.writeframes(b"\0\0")
