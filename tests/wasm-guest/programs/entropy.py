# distinct:
"""Whatever is random is so in each call. (Hashes of texts are not: they belong to the snapshot.)"""
import logging
import os
import random
import secrets
import tempfile
import time
import uuid

print(random.random())
print(random.getrandbits(64))
print(random.Random().random())
print(random.SystemRandom().random())
print(random.sample(range(10**9), 3))
print(uuid.uuid4())
print(uuid.uuid1())
print(secrets.token_hex(16))
print(os.urandom(8).hex())
print(tempfile.mktemp())
print(time.time_ns())
assert abs(logging.LogRecord("n", 10, "p", 1, "m", (), None).relativeCreated) < 60_000
random.seed(7)
assert random.random() == 0.32383276483316237 and hash("a") == hash("a")
numbers = [random.random() for _ in range(2000)]
assert len(set(numbers)) == 2000 and 0.4 < sum(numbers) / 2000 < 0.6
