import concurrent.futures


def root(n):
    return n ** 0.5 if n >= 0 else 1 / 0


if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(list(pool.map(root, [1, 4, 9])))
        try:
            pool.submit(root, -1).result()
        except ZeroDivisionError as e:
            print("from a worker:", e)
