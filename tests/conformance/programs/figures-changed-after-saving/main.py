import matplotlib.pyplot as plt

import io

plt.figure(figsize=(1, 1), dpi=100)
plt.plot([1, 2])
plt.savefig('before.png')
plt.title('x')
plt.show()
plt.figure(figsize=(2, 1), dpi=100)
plt.plot([1, 2])
plt.savefig('/tmp/elsewhere.png')
plt.show()
plt.figure(figsize=(3, 1), dpi=100)
plt.plot([1, 2])
plt.savefig(io.BytesIO())
plt.show()
