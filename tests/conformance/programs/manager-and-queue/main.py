import multiprocessing as mp


def work(q, d, v, done):
    with v.get_lock():
        v.value += 1
    d["k"] = "set"
    q.put("put")
    done.set()


if __name__ == "__main__":
    ctx = mp.get_context("fork")
    with ctx.Manager() as manager:
        q, d, v, done = ctx.Queue(), manager.dict(), ctx.Value("i", 41), ctx.Event()
        p = ctx.Process(target=work, args=(q, d, v, done))
        p.start()
        print(q.get(), done.wait(10))
        p.join()
        print(d["k"], v.value, p.exitcode)
