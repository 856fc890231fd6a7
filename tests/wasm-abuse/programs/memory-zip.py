# A file of a zip archive that is much larger than it says.
# expect: {"status": "failed", "reason": "memory", "limits": {"fuel": 200000000000, "wallMs": 120000, "memoryBytes": 134217728}, "stdout": {}, "stderr": {}}
import io
import zipfile

raw = io.BytesIO()
with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as z:
    with z.open("x", "w", force_zip64=True) as f:
        for _ in range(400):
            f.write(bytes(1 << 20))
zipfile.ZipFile(raw).read("x")
