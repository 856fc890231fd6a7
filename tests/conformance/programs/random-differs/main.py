import random

print(random.random(), random.getrandbits(64), random.sample(range(1000), 5))
