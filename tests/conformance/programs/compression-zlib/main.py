import base64
import gzip
import hashlib
import io
import struct
import tarfile
import zipfile
import zlib

data = b"mayfly " * 1000
for m in (gzip, zlib):
    print(m.__name__, m.decompress(m.compress(data)) == data)
print(hashlib.sha256(data).hexdigest()[:16], hashlib.blake2b(data).hexdigest()[:16], hashlib.md5(data).hexdigest()[:16],
      base64.b64encode(data[:6]))
b = io.BytesIO()
with tarfile.open(fileobj=b, mode="w:gz") as t:
    info = tarfile.TarInfo("x")
    info.size = 3
    t.addfile(info, io.BytesIO(b"abc"))
b.seek(0)
print(tarfile.open(fileobj=b).extractfile("x").read(), struct.pack("<IH", 1, 2))
b = io.BytesIO()
with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("y", data)
print(len(b.getvalue()) < 500, zipfile.ZipFile(b).read("y") == data)
