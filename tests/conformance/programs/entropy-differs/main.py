import os
import secrets
import tempfile
import uuid

print(secrets.token_hex(8), file=open("/dev/null", "w"))
print(uuid.uuid4())
