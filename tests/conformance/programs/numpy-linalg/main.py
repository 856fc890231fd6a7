import numpy as np

a = np.array([[4.0, 1], [2, 3]])
print(np.linalg.solve(a, [1, 2]), np.round(np.linalg.eigvals(a), 6), np.linalg.det(a).round(6))
print(np.fft.fft([1, 0, 0, 0]).real, (np.arange(3)[:, None] * np.arange(4)).sum(), np.argsort([3, 1, 2]))
u, s, vt = np.linalg.svd(np.ones((200, 100)))
print(round(s[0], 6), np.allclose(u[:, :1] * s[:1] @ vt[:1], 1))
m = np.random.default_rng(0).random((300, 300))
print(np.allclose(m @ np.linalg.inv(m), np.eye(300)))
np.save("m.npy", a)
print(np.load("m.npy").shape)
