import tempfile

print(tempfile.mkdtemp())
